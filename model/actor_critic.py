"""The extractor agent as actor and critic (Sec. 3.2, A.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from model.attention import masked_softmax
from model.extractor import HierarchicalEncoder, RnnExtractor
from model.pointer import PointerDecoder, SentenceMemory, State, pick
from model.rnn import small_uniform

Choice = Callable[[Tensor], Tensor]  # scores (B, N + 1), -inf where impossible -> actions (B,)


class Episode(NamedTuple):
    """What the actor did.  Action N stands for stopping, whatever an article's own number of sentences."""

    actions: Tensor  # (B, T)
    happened: Tensor  # (B, T) False after an article's stop
    log_probs: Tensor  # (B, T) log pi(c_t, j_t)
    entropies: Tensor  # (B, T)
    stop: int  # N

    def extracted(self) -> list[list[int]]:
        """The chosen sentences of each article, in the order of choice."""
        chosen = self.happened & (self.actions < self.stop)
        return [row[keep].tolist() for row, keep in zip(self.actions.cpu(), chosen.cpu(), strict=True)]


def sample(scores: Tensor) -> Tensor:
    """j_t ~ pi, for training."""
    return torch.multinomial(scores.softmax(1), 1).squeeze(1)


def greedy(scores: Tensor) -> Tensor:
    return scores.argmax(1)


class ActorCritic(HierarchicalEncoder):
    """The actor is rnn-ext with one more candidate, v_EOE (`stop`); the critic has the same structure."""

    def __init__(self, *, recurrent_critic: bool = True, lstm_hidden: int = 256, lstm_layer: int = 1, **encoder: Any):
        super().__init__(lstm_hidden=lstm_hidden, lstm_layer=lstm_layer, **encoder)
        self.actor = PointerDecoder(self.memory_size, lstm_hidden, lstm_layer)
        self.stop = small_uniform(self.memory_size)  # v_EOE
        self.critic = Critic(self.memory_size, lstm_hidden, lstm_layer, recurrent_critic)

    def start_from(self, extractor: RnnExtractor) -> None:
        """Actor and critic both begin as the extractor trained by maximum likelihood; the rest is new."""
        encoders = {k: v for k, v in extractor.state_dict().items() if not k.startswith("pointer.")}
        self.load_state_dict(encoders, strict=False)
        self.actor.load_state_dict(extractor.pointer.state_dict())
        self.critic.decoder.load_state_dict(extractor.pointer.state_dict())

    def act(self, h: Tensor, mask: Tensor, choose: Choice, n_sentences: int | None = None) -> Episode:
        """Extracts from encoded articles, h: (B, N, 2H), until `choose` picks the stop candidate in each, or, with
        `n_sentences`, exactly so many (all, where an article has fewer)."""
        batch, stop = mask.shape
        memory = self.actor.remember(
            torch.cat([h, self.stop.expand(batch, 1, -1)], 1),
            torch.cat([mask, torch.ones_like(mask[:, :1])], 1),
        )
        free = memory.mask.clone()
        previous, state = self.actor.start(batch)
        running = torch.ones(batch, dtype=torch.bool, device=h.device)
        # Made before the loop: small tensors that stay would keep the large ones' memory from being used again.
        actions = torch.full((batch, stop + 1), stop, device=h.device)
        happened = torch.zeros_like(memory.mask)
        log_probs, entropies = (h.new_zeros(batch, stop + 1) for _ in range(2))
        for t in range(stop + 1):
            if n_sentences is not None:
                free = _exactly(free, memory.mask, t < n_sentences)
            scores, state = self.actor.step(memory, previous, state, free)
            action = choose(scores)
            actions[:, t], happened[:, t] = action, running
            log_probs[:, t], entropies[:, t] = _log_prob_and_entropy(scores, action)
            running = running & (action < stop)
            if not running.any():
                break
            free = free.scatter(1, action[:, None], False)
            free[:, stop] = True  # a stopped article keeps stopping, unseen
            previous = pick(memory.rows, action[:, None]).squeeze(1)
        taken = slice(t + 1)
        return Episode(actions[:, taken], happened[:, taken], log_probs[:, taken], entropies[:, taken], stop)


def _exactly(free: Tensor, mask: Tensor, go_on: bool) -> Tensor:
    """Bars the stop (last) candidate while sentences remain to be taken, or everything else afterwards."""
    free = free.clone()
    if not go_on:
        free[:, :-1] = False
    free[:, -1] = ~free[:, :-1].any(1)
    return free


def _log_prob_and_entropy(scores: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
    log_pi = scores.log_softmax(1)
    entropy = -(log_pi.exp() * log_pi.masked_fill(log_pi.isinf(), 0)).sum(1)
    return log_pi.gather(1, actions[:, None]).squeeze(1), entropy


class Critic(nn.Module):
    """b(c_t): the pointer decoder with a regression layer instead of the final pointing (A.3).

    In the paper the state c_t is the document and the sentence extracted last, so the critic's LSTM reads what the
    actor's reads. The released critic never updates its LSTM state, and reads its own attended vector instead.
    """

    def __init__(self, memory_size: int, hidden: int, layers: int, recurrent: bool) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.decoder = PointerDecoder(memory_size, hidden, layers)
        self.value = nn.Linear(memory_size, 1)

    def forward(self, h: Tensor, mask: Tensor, actions: Tensor) -> Tensor:
        """h: (B, N, 2H), mask: (B, N), actions: (B, T), N for stop -> values (B, T)"""
        memory = self.decoder.remember(h, mask)
        first, state = self.decoder.start(len(h))
        if self.recurrent:
            chosen = pick(h, actions[:, :-1].clamp(max=h.size(1) - 1))
            inputs = torch.cat([first[:, None], chosen], 1)  # (B, T, 2H)
            attended, _ = self._attend(memory, inputs, state)
        else:
            attended = self._without_recurrence(memory, first, state, actions.size(1))
        return self.value(attended).squeeze(2)

    def _attend(self, memory: SentenceMemory, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        scores, state = self.decoder.attend(memory, inputs, state)
        return masked_softmax(scores, memory.mask[:, None]) @ memory.rows, state  # (B, T, 2H)

    def _without_recurrence(self, memory: SentenceMemory, previous: Tensor, state: State, steps: int) -> Tensor:
        attended = []
        for _ in range(steps):
            context, _ = self._attend(memory, previous[:, None], state)  # (B, 1, 2H)
            attended.append(context)
            previous = context.squeeze(1)
        return torch.cat(attended, 1)
