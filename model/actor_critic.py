"""The extractor agent as actor and critic (Sec. 3.2, A.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from model.attention import masked_softmax
from model.batches import in_one_transfer
from model.extractor import HierarchicalEncoder, RnnExtractor
from model.pointer import PointerDecoder, SentenceMemory, State, gather_rows
from model.rnn import small_uniform

Choice = Callable[[Tensor], Tensor]  # scores (B, N + 1), -inf where impossible -> actions (B,)


class Episode(NamedTuple):
    """What the actor did.  Action N stands for stopping, whatever an article's own number of sentences."""

    actions: Tensor  # (B, T)
    happened: Tensor  # (B, T) False after an article's stop
    log_probs: Tensor  # (B, T) log pi(c_t, j_t), without gradient
    stop: int  # N

    def cpu(self) -> Episode:
        actions, happened, log_probs = in_one_transfer(self[:3])
        return Episode(actions, happened, log_probs, self.stop)

    def extracted(self) -> list[list[int]]:
        """The chosen sentences of each article, in the order of choice; of an episode on the CPU."""
        chosen = self.happened & (self.actions < self.stop)
        return [row[keep].tolist() for row, keep in zip(self.actions, chosen, strict=True)]


def sample(scores: Tensor) -> Tensor:
    """j_t ~ pi, for training. Scores that are not numbers become 0 here; the loss, which keeps them, ends the run."""
    return torch.multinomial(scores.nan_to_num(0.0).softmax(1), 1).squeeze(1)


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

    def remember(self, h: Tensor, mask: Tensor) -> SentenceMemory:
        """The encoded articles h: (B, N, 2H), and the stop candidate as their last sentence."""
        stop = self.stop.expand(len(h), 1, -1)
        return self.actor.remember(torch.cat([h, stop], 1), torch.cat([mask, torch.ones_like(mask[:, :1])], 1))

    @torch.no_grad()
    def act(self, memory: SentenceMemory, choose: Choice, n_sentences: int | None = None) -> Episode:
        """Extracts until `choose` picks the stop candidate in each article, or, with `n_sentences`, exactly so many
        (all, where an article has fewer)."""
        batch, stop = len(memory.mask), memory.mask.size(1) - 1
        selectable = memory.mask.clone()
        previous, state = self.actor.start(batch)
        running = torch.ones_like(memory.mask[:, 0])
        # Made before the loop: small tensors that stay would keep the large ones' memory from being used again.
        actions = torch.full_like(memory.mask, stop, dtype=torch.int64)
        happened = torch.zeros_like(memory.mask)
        log_probs = torch.zeros_like(memory.mask, dtype=torch.float32)
        for t in range(stop + 1):
            if n_sentences is not None:
                selectable = _exactly(selectable, t < n_sentences)
            scores, state = self.actor.step(memory, previous, state, selectable)
            action = choose(scores)
            actions[:, t], happened[:, t] = action, running
            log_probs[:, t] = scores.log_softmax(1).gather(1, action[:, None]).squeeze(1)
            running = running & (action < stop)
            if not running.any():
                break
            selectable = selectable.scatter(1, action[:, None], False)
            selectable[:, stop] = True  # a stopped article keeps stopping, unseen
            previous = gather_rows(memory.rows, action[:, None]).squeeze(1)
        taken = slice(t + 1)
        return Episode(actions[:, taken], happened[:, taken], log_probs[:, taken], stop)

    def policy(self, memory: SentenceMemory, actions: Tensor) -> Tensor:
        """log pi(c_t, j) of all candidates j at every step of the actions (B, T), with gradient: (B, T, N + 1)."""
        scores = self.actor.teacher_forcing(memory, actions)
        chosen = torch.zeros_like(scores, dtype=torch.int64).scatter_(2, actions[:, :, None], 1)
        earlier = (chosen.cumsum(1) - chosen) > 0
        earlier[:, :, -1] = False
        return scores.masked_fill(earlier | ~memory.mask[:, None], float("-inf")).log_softmax(2)


def entropy(log_pi: Tensor) -> Tensor:
    """-sum_j pi_j log pi_j over the last dimension, where impossible candidates add nothing."""
    return -(log_pi.exp() * log_pi.masked_fill(log_pi.isinf(), 0)).sum(-1)


def _exactly(selectable: Tensor, go_on: bool) -> Tensor:
    """Bars the stop (last) candidate while sentences remain to be taken, or everything else afterwards."""
    selectable = selectable.clone()
    if not go_on:
        selectable[:, :-1] = False
    selectable[:, -1] = ~selectable[:, :-1].any(1)
    return selectable


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
            chosen = gather_rows(h, actions[:, :-1].clamp(max=h.size(1) - 1))
            inputs = torch.cat([first[:, None], chosen], 1)  # (B, T, 2H)
            attended, _ = self._attend(memory, inputs, state)
        else:
            attended = self._without_recurrence(memory, first, state, actions.size(1))
        return self.value(attended).squeeze(2)

    def _attend(self, memory: SentenceMemory, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        scores, state = self.decoder(memory, inputs, state)
        return masked_softmax(scores, memory.mask[:, None]) @ memory.rows, state  # (B, T, 2H)

    def _without_recurrence(self, memory: SentenceMemory, previous: Tensor, state: State, steps: int) -> Tensor:
        attended = []
        for _ in range(steps):
            context, _ = self._attend(memory, previous[:, None], state)  # (B, 1, 2H)
            attended.append(context)
            previous = context.squeeze(1)
        return torch.cat(attended, 1)
