"""Seconds per reinforcement-learning update at paper sizes, on one core: 32 articles, 4 sentences each.

    python -m scripts.bench_rl --data_dir $DATA [--steps 3]

Without a cached rewriting, with all of them cached, and by a plain loop over articles and steps (reference/) on
the same articles and actions; CPU seconds, taken in turns. Weights are random, with a clock in the decoder that ends
sentences after about 17 words.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from data.batching import ArticleData, RLBatch, training_batches
from data.collate import collate_sources
from data.store import TokenStore, open_store
from data.vocabulary import Vocabulary, load_word_counts
from inference.rewriter import Rewriter
from model.abstractor import Abstractor
from model.actor_critic import ActorCritic
from reference.decoding import plain_greedy
from reference.networks import encode_article, first_state, pointer_scores, split_articles
from reference.random_models import paper_sizes
from support.errors import run
from support.flags import flag, parse
from support.memory import keep_freed_memory
from training.a2c import a2c_loss, discounted_returns, standardise
from training.reinforcement import ActorCriticTraining, Environment
from training.rewards import RewardFlags
from training.rewriting_cache import RewritingCache

PHASES = ("act", "rewrite", "score")


@dataclass(frozen=True, kw_only=True)
class Flags:
    data_dir: str = flag(help="data set root", env="DATA")
    batch: int = flag(32, "articles in a batch", at_least=1)
    sentences: int = flag(4, "sentences extracted from each article", at_least=1)
    steps: int = flag(3, "updates to time", at_least=1)


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    torch.set_num_threads(1)
    keep_freed_memory()
    torch.manual_seed(0)
    vocabulary = Vocabulary.from_counter(load_word_counts(flags.data_dir), 30000)
    store = open_store(flags.data_dir, "train")
    agent, abstractor = paper_sizes(len(vocabulary))
    rewriter = Rewriter(abstractor, vocabulary, store)
    cache = RewritingCache(store.articles.n_sentences, 30, 10**6)
    optimizer = torch.optim.Adam(agent.parameters(), 1e-12, fused=True)
    stream = training_batches(ArticleData(store, vocabulary), flags.batch, seed=0)
    seconds: dict[str, float] = defaultdict(float)
    phases: dict[str, dict[str, float]] = {"no cache": defaultdict(float), "warm cache": defaultdict(float)}
    for number in range(flags.steps + 1):
        batch = next(stream)
        actions = fixed_actions(batch, flags.sentences)
        for label in ("no cache", "warm cache"):
            environment = Environment(store, cache.through(rewriter), rewriter.own)
            objective = ActorCriticTraining(
                agent, environment, environment, RewardFlags(), detach_baseline=True,
                device=torch.device("cpu"), directory=Path(tempfile.gettempdir()),
            )  # fmt: skip
            objective.choose = chooser(actions)
            started = time.process_time()
            losses, metrics = objective.step(batch)
            update(agent, optimizer, losses)
            if number:  # the first warms up
                seconds[label] += time.process_time() - started
                for phase in PHASES:
                    phases[label][phase] += float(metrics[f"seconds_{phase}"])
        started = time.process_time()
        update(agent, optimizer, plain_step(agent, abstractor, vocabulary, store, batch, actions))
        seconds["plain loop"] += (time.process_time() - started) * bool(number)
    for label, total in seconds.items():
        parts = "".join(f"  {p} {phases[label][p] / flags.steps:.3f}" for p in PHASES) if label in phases else ""
        print(f"{label:12}{total / flags.steps:8.3f} s  {seconds['plain loop'] / total:5.1f}x{parts}")


def update(agent: ActorCritic, optimizer: torch.optim.Optimizer, losses: Tensor) -> None:
    optimizer.zero_grad()
    losses.mean().backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 2.0)
    optimizer.step()


def fixed_actions(batch: RLBatch, sentences: int) -> list[list[int]]:
    random = np.random.default_rng(int(batch.indices[0]))
    return [random.permutation(n)[:sentences].tolist() for n in batch.articles.counts.tolist()]


def chooser(actions: list[list[int]]):  # type: ignore[no-untyped-def]
    steps = iter(range(10**6))

    def choose(scores: Tensor) -> Tensor:
        t = next(steps)
        return torch.tensor([row[t] if t < len(row) else scores.size(1) - 1 for row in actions])

    return choose


def plain_step(
    agent: ActorCritic,
    abstractor: Abstractor,
    vocabulary: Vocabulary,
    store: TokenStore,
    batch: RLBatch,
    actions: list[list[int]],
) -> Tensor:
    """Article by article, step by step; all rewritings in one dense batch of 30 steps, rewards word by word."""
    log_probs, values, lengths = [], [], []
    for words, chosen in zip(split_articles(batch.articles), actions, strict=True):
        h = encode_article(agent, words)
        memory = torch.cat([h, agent.stop[None]])
        state, critic_state = first_state(agent.actor), first_state(agent.critic.decoder)
        previous: Tensor = agent.actor.initial_input
        critic_input: Tensor = agent.critic.decoder.initial_input
        barred = torch.zeros(len(memory), dtype=torch.bool)
        for action in [*chosen, len(h)]:
            scores, state = pointer_scores(agent.actor, memory, previous, state)
            log_probs.append(scores.masked_fill(barred, float("-inf")).log_softmax(0)[action])
            scores, critic_state = pointer_scores(agent.critic.decoder, h, critic_input, critic_state)
            values.append(agent.critic.value(scores.softmax(0) @ h).squeeze())
            if action < len(h):
                barred = barred.clone()
                barred[action] = True
                previous = critic_input = h[action]
        lengths.append(len(chosen) + 1)
    first = store.articles.document_offsets[batch.indices.numpy()]
    numbers = np.array([start + j for start, chosen in zip(first, actions, strict=True) for j in chosen])
    sources = collate_sources(store, store.map_to(vocabulary), numbers, len(vocabulary))
    texts = iter(plain_greedy(abstractor, sources.batch, 30))
    returns = []
    for document, chosen in zip(batch.indices.tolist(), actions, strict=True):
        summary = [sentence.tolist() for sentence in store.abstracts.document(document)]
        rewritten = [next(texts)[0] for _ in chosen]
        rewards = [plain_rouge_l(*pair) for pair in zip(rewritten, summary, strict=False)]
        rewards += [0.0] * (len(chosen) + 1 - len(rewards))
        returns.append(discounted_returns(torch.tensor([rewards]), 0.95)[0])
    loss = a2c_loss(torch.stack(log_probs), torch.stack(values), standardise(torch.cat(returns)), True)
    return loss.policy + loss.critic


def plain_rouge_l(output: list[int], reference: list[int]) -> float:
    table = [[0] * (len(reference) + 1) for _ in range(len(output) + 1)]
    for i, a in enumerate(output):
        for j, b in enumerate(reference):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return 2 * table[-1][-1] / max(1, len(output) + len(reference))


if __name__ == "__main__":
    run(main)
