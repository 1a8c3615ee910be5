"""Reinforcement learning of the extractor agent over the frozen abstractor (Sec. 3.2)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from checkpoints.networks import AGENT
from data.batching import RLBatch
from data.store import TokenStore
from data.vocabulary import SPECIAL_NAMES
from inference.rewriting import Rewrite, SentenceRewriter
from metrics.sentence_rouge import rouge_n_batch
from model.actor_critic import ActorCritic, Choice, entropy, greedy, sample
from support.files import atomic_file
from training.a2c import Words, a2c_loss, discounted_returns, episode_rewards, joined, standardise
from training.rewards import REWARDS, RewardFlags
from training.rewriting_cache import RewritingCache
from training.trainer import Step, Validation

N_EXAMPLES = 5

Example = tuple[int, list[int], list[list[int]], list[list[int]]]  # document, extracted, rewritten, summary


class Environment(NamedTuple):
    """A split and what becomes of an extracted sentence: the abstractor's g(d), or d itself."""

    store: TokenStore
    rewrite: Rewrite
    own: Sequence[str] = SPECIAL_NAMES  # words of rewritings that the store's lexicon may lack

    @classmethod
    def of(cls, rewriter: SentenceRewriter) -> Environment:
        return cls(rewriter.store, rewriter, rewriter.own)

    def rewritten(self, documents: Sequence[int], extracted: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        """All sentences of all articles are rewritten together."""
        first = self.store.articles.document_offsets
        numbers = [first[document] + j for document, chosen in zip(documents, extracted, strict=True) for j in chosen]
        texts = iter(self.rewrite(np.array(numbers, np.int64)))
        return [[next(texts).tolist() for _ in chosen] for chosen in extracted]

    def summaries(self, documents: Sequence[int]) -> list[list[list[int]]]:
        return [[s.tolist() for s in self.store.abstracts.document(document)] for document in documents]

    def text(self, words: Words) -> list[str]:
        return self.store.text(np.array(words, np.int64), self.own)

    def episode_rewards(
        self, flags: RewardFlags, rewritten: list[list[list[int]]], summaries: list[list[list[int]]]
    ) -> list[np.ndarray]:
        step, stop = (REWARDS[name].of_ids(self.text) for name in (flags.reward, flags.stop_reward))
        return episode_rewards(rewritten, summaries, step, stop, flags.stop)


class ActorCriticTraining:
    """One A2C update for a batch of articles: encode, act, rewrite, score, criticise."""

    net = AGENT
    highest_is_best = True

    def __init__(
        self,
        network: ActorCritic,
        training: Environment,
        validation: Environment,
        rewards: RewardFlags,
        *,
        detach_baseline: bool,
        device: torch.device,
        directory: Path,
        cache: RewritingCache | None = None,
    ) -> None:
        self.network, self.training, self.validation, self.rewards = network, training, validation, rewards
        self.detach_baseline, self.device, self.directory, self.cache = (
            detach_baseline,
            device,
            directory,
            cache,
        )
        self.gradient_groups = {
            "sent_enc": network.sentence_encoder,
            "art_enc": network.article_encoder,
            "ext": network.actor,
            "scr": network.critic,
        }

    def step(self, batch: RLBatch) -> Step:
        clock, documents = _Clock(), batch.indices.tolist()
        with clock("act"):
            h, mask = self.network.encode(batch.articles)
            memory = self.network.remember(h, mask)
            acted = self.network.act(memory, self.choose)
            actions, episode = acted.actions, acted.cpu()
            extracted = episode.extracted()
        with clock("rewrite"):
            rewritten = self.training.rewritten(documents, extracted)
        with clock("score"):
            summaries = self.training.summaries(documents)
            given = self.training.episode_rewards(self.rewards, rewritten, summaries)
            rewards = _padded(given, episode.happened)  # (B, T), on the CPU as all that follows from it alone
            returns = standardise(discounted_returns(rewards, self.rewards.gamma)[episode.happened])
        happened, returns = (x.to(self.device) for x in (episode.happened.flatten().nonzero().squeeze(1), returns))
        log_pi = self.network.policy(memory, actions)  # (B, T, N + 1)
        taken = log_pi.gather(2, actions[:, :, None])
        values = self.network.critic(h, mask, actions)
        log_probs, values, entropies = (x.flatten().index_select(0, happened) for x in (taken, values, entropy(log_pi)))
        loss = a2c_loss(log_probs, values.float(), returns, self.detach_baseline)
        metrics = {
            "reward": float(rewards[episode.happened].mean()),
            "step_reward": _mean([r[:-1] for r in given]),
            "stop_reward": _mean([r[-1:] for r in given]),
            "policy_loss": loss.policy.mean().detach(),
            "critic_loss": loss.critic.mean().detach(),
            "advantage": loss.advantages.mean(),
            "entropy": entropies.mean().detach(),
            "extracted": _mean([np.array([len(chosen)]) for chosen in extracted]),
            "stop_rate": _stop_rate(extracted, batch.articles.counts.tolist()),
            **({"cache_hits": self.cache.take_hit_rate()} if self.cache else {}),
            **clock.seconds,
        }
        return Step(loss.policy + loss.critic, metrics)

    choose: Choice = staticmethod(sample)

    def validate(self, batches: Iterable[RLBatch], step: int) -> Validation:
        """100 ROUGE-1 F1 of greedy extraction and rewriting, as released, and what else is worth a curve."""
        sums = dict.fromkeys(("reward", "extracted", "stop_rate"), 0.0)  # a process may have no batch at all
        count, rouge = 0, 0.0
        examples: list[Example] = []
        for batch in batches:
            h, mask = self.network.encode(batch.articles.to(self.device))
            extracted = self.network.act(self.network.remember(h, mask), greedy).cpu().extracted()
            documents = batch.indices.tolist()
            rewritten = self.validation.rewritten(documents, extracted)
            summaries = self.validation.summaries(documents)
            rouge += 100 * float(rouge_n_batch([joined(s) for s in rewritten], [joined(s) for s in summaries]).sum())
            given = self.validation.episode_rewards(self.rewards, rewritten, summaries)
            sums["reward"] += sum(float(r.mean()) for r in given)
            sums["extracted"] += sum(map(len, extracted))
            sums["stop_rate"] += len(documents) * _stop_rate(extracted, batch.articles.counts.tolist())
            if len(examples) < N_EXAMPLES:
                examples += list(zip(documents, extracted, rewritten, summaries, strict=True))
            count += len(documents)
        if self.cache:
            self.cache.take_hit_rate()
        self._write_examples(examples[:N_EXAMPLES], step)
        return Validation(rouge, count, sums)

    def _write_examples(self, examples: list[Example], step: int) -> None:
        lines = []
        for document, extracted, rewritten, summary in examples:
            lines.append(f"# {self.validation.store.name}/{document}.json")
            lines += [f"{j:4d}  {self._text(words)}" for j, words in zip(extracted, rewritten, strict=True)]
            lines += [f" ref  {self._text(words)}" for words in summary] + [""]
        folder = self.directory / "examples"
        folder.mkdir(exist_ok=True)
        with atomic_file(folder / f"{step}.txt") as file:
            file.write("\n".join(lines))

    def _text(self, words: list[int]) -> str:
        return " ".join(self.validation.text(words))


class _Clock:
    """Seconds of each phase, by name; a phase ends when its results are on the CPU, so that a GPU is done with it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[f"seconds_{phase}"] = time.perf_counter() - started


def _padded(rewards: Sequence[np.ndarray], happened: Tensor) -> Tensor:
    """(B, T), zero after an article's stop"""
    return torch.zeros(happened.shape).masked_scatter(happened, torch.from_numpy(np.concatenate(rewards)).float())


def _mean(parts: list[np.ndarray]) -> float:
    values = np.concatenate(parts)
    return float(values.mean()) if len(values) else 0.0


def _stop_rate(extracted: Sequence[Sequence[int]], counts: Sequence[int]) -> float:
    """The share of articles whose agent stopped although sentences were left."""
    return float(np.mean([len(chosen) < n for chosen, n in zip(extracted, counts, strict=True)]))
