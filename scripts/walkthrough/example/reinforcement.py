"""One A2C update: an episode, its rewards, returns, advantages and losses (Sec. 3.2, A.3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from inference.rewriter import Rewriter
from metrics.sentence_rouge import REWARDS
from model.actor_critic import Episode
from scripts.walkthrough.example.corpus import NAMES, Corpus
from scripts.walkthrough.example.networks import Networks
from scripts.walkthrough.example.tables import number, table
from training.a2c import a2c_loss, discounted_returns, episode_rewards, standardise

STOP = 3  # the longest article has three sentences
DICE = torch.tensor([[0, 2, 1, STOP], [1, STOP, STOP, STOP]])  # what the policy is said to have sampled
GAMMA = 0.95


@torch.no_grad()
def blocks(corpus: Corpus, networks: Networks) -> dict[str, str]:
    agent = networks.agent
    h, mask = agent.encode(networks.extraction_batch.articles)
    dice = iter(DICE.T)
    episode = agent.act(agent.remember(h, mask), lambda scores: next(dice))
    happened = episode.happened
    values = agent.critic(h, mask, episode.actions)[happened]

    rewriter = Rewriter(networks.abstractor, corpus.vocabulary, corpus.store)
    first = corpus.store.articles.document_offsets
    extracted = episode.extracted()
    rewritten = [
        [words.tolist() for words in rewriter(np.array([first[document] + j for j in chosen]))]
        for document, chosen in enumerate(extracted)
    ]
    summaries = [[words.tolist() for words in corpus.store.abstracts.document(d)] for d in range(len(NAMES))]
    given = episode_rewards(rewritten, summaries, REWARDS["rouge-l"], REWARDS["rouge-1"], 1.0)
    rewards = torch.zeros(happened.shape).double()
    rewards[happened] = torch.from_numpy(np.concatenate(given))
    returns = discounted_returns(rewards, GAMMA)[happened]
    standardised = standardise(returns)
    loss = a2c_loss(episode.log_probs[happened], values, standardised, detach_baseline=True)
    texts = [[" ".join(corpus.text(np.array(words))) for words in sentences] for sentences in rewritten]
    return {
        "episode": _episode(episode, texts, rewards, corpus),
        "advantages": _advantages(
            episode, [rewards[happened], returns, standardised, values, loss.advantages, loss.policy, loss.critic]
        ),
    }


def _steps(episode: Episode) -> list[tuple[int, int, str]]:
    """Article, step and the action's name, of all that happened."""
    rows, steps = (part.tolist() for part in episode.happened.nonzero(as_tuple=True))
    actions = episode.actions.tolist()
    return [
        (d, t, "stop" if actions[d][t] == STOP else f"$d_{actions[d][t]}$") for d, t in zip(rows, steps, strict=True)
    ]


def _episode(episode: Episode, texts: list[list[str]], rewards: Tensor, corpus: Corpus) -> str:
    rows = []
    for d, t, action in _steps(episode):
        stopped, beyond = action == "stop", t >= len(corpus.labels[d].extracted)
        against = "the whole summary" if stopped else "nothing is left" if beyond else f"$s_{t}$"
        pi = number(episode.log_probs[d, t].exp())
        text = "" if stopped else texts[d][t]
        rows.append((f"{NAMES[d]}, $t = {t}$", action, pi, text, against, number(rewards[d, t])))
    return table(["", "action", r"$\pi$", "$g(d_{j_t})$", "compared with", "$r(t+1)$"], rows)


def _advantages(episode: Episode, columns: list[Tensor]) -> str:
    rows = [
        (f"{NAMES[d]}, $t = {t}$", action, *map(number, values))
        for (d, t, action), *values in zip(_steps(episode), *columns, strict=True)
    ]
    header = ["", "action", "$r$", "$R_t$", "scaled", "$b(c_t)$", "$A$", "policy loss", "critic loss"]
    return table(header, rows)
