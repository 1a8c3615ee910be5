"""All stages of the reproduction, from a corpus to the page: what is run, on what, and where the results go.

    <runs>/word2vec/  models/<model>/  tuning/<row>/  decode/<row>/     see report.rows
    <runs>/tables/table_<n>.txt  claims.txt  claims.json  report.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from data.vocabulary import COUNTS_FILE
from metrics.meteor_jar import why_unavailable
from pipeline.presets import Preset
from pipeline.stage import Argument, Chosen, Found, Stage, flags
from pipeline.stamps import Stamps
from report.rows import MODELS, ORIGINAL
from sample import RECIPE_FILE

ROOT = Path(__file__).parents[1]
LEAD = 3  # sentences of lead-3


class Baseline(NamedTuple):
    extractor: str | None  # None: the first sentences
    abstractive: bool


class Agent(NamedTuple):
    model: str
    beam: int = 1


BASELINES = {
    "lead3": Baseline(None, False),
    "lead3_abs": Baseline(None, True),
    "ff_ext": Baseline("ext_ff", False),
    "rnn_ext": Baseline("ext_rnn", False),
    "ff_ext_abs": Baseline("ext_ff", True),
    "rnn_ext_abs": Baseline("ext_rnn", True),
}
AGENTS = {
    "rnn_ext_rl": Agent("rl_ext"),
    "rnn_ext_abs_rl": Agent("rl"),
    "rnn_ext_abs_rl_rerank": Agent("rl", beam=5),
}
FLAT = ("pointer_generator", "pointer_generator_coverage")
TIMED = ("rnn_ext_abs_rl", "rnn_ext_abs_rl_rerank", "pointer_generator_coverage")  # Table 5


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A data set, trained and decoded into its own folders; `prefix` tells its stages from another one's."""

    data: Path
    runs: Path
    preset: Preset
    prefix: str = ""
    decode_folder: str = ORIGINAL
    models_folder: str = MODELS

    @property
    def split(self) -> str:
        """The split that is summarised."""
        return "test" if (self.data / "test").is_dir() or self.is_sample else "val"

    @property
    def is_sample(self) -> bool:
        return self.data == self.runs / "data"

    @property
    def _counts_are_given(self) -> bool:
        """The sample corpus and prepared data sets bring them."""
        counted_here = Stamps(self.runs).begun(self.prefix + "words")
        return self.is_sample or ((self.data / COUNTS_FILE).exists() and not counted_here)

    def stages(self) -> Iterator[Stage]:
        """In the order in which they start where cores are free: what much else waits for comes first."""
        yield from self._prepare()
        yield self._extractor("ext_rnn")
        yield self._abstractor()
        yield self._reinforced("rl", abstractive=True)
        yield from self._pointer_generators()
        yield self._reinforced("rl_ext", abstractive=False)
        yield self._extractor("ext_ff", "--net-type", "ff")
        for row, baseline in BASELINES.items():
            yield from self._baseline(row, baseline)
        yield from self._learned_rows()

    def transfer(self) -> Iterator[Stage]:
        """What is left where the models come from another data set."""
        yield self._references(self.split)
        yield from self._learned_rows()

    def _learned_rows(self) -> Iterator[Stage]:
        for row, agent in AGENTS.items():
            yield self._decode_agent(row, agent)
        for row in FLAT:
            yield self._decode_flat(row)
        for row in (*AGENTS, *FLAT):
            yield self._evaluate(row)

    # Data

    def _prepare(self) -> Iterator[Stage]:
        train, val = self._data("train"), self._data("val")
        counts, recipe = self._data(COUNTS_FILE), self._data(RECIPE_FILE)
        if self.is_sample:
            yield self._stage(
                "corpus",
                ["-m", "sample", "--out", str(self.data)],
                inputs=[str(ROOT / "sample" / "*.*")],
                outputs=[recipe, counts, self._data(self.split)],
                anew=["--force"],
            )
        yield self._stage(
            "labels",
            ["make_extraction_labels.py", *self._data_dir],
            inputs=[recipe] if self.is_sample else [],
            outputs=[train, val],
            anew=["--force"],
        )
        if not self._counts_are_given:
            yield self._stage("words", ["-m", "data.count_words", str(self.data)], inputs=[train], outputs=[counts])
        checked = self._run("check.txt")
        yield self._stage(
            "check",
            ["-m", "data.check", str(self.data)],
            inputs=[train, val, counts],
            outputs=[checked],
            prints=checked,
        )
        yield self._stage(
            "word2vec",
            ["train_word2vec.py", "--path", self._run("word2vec"), *self._data_dir],
            inputs=[train, counts, checked],
            outputs=[self._vectors.pattern],
            replaces=[self._run("word2vec")],
        )
        for split in dict.fromkeys(("val", self.split)):
            yield self._references(split)

    def _references(self, split: str) -> Stage:
        return self._stage(
            f"references-{split}",
            ["make_eval_references.py", *self._data_dir, "--split", split],
            inputs=[self._data(split)],
            outputs=[self._data(f"refs/{split}")],
        )

    # Training

    def _extractor(self, model: str, *more: str) -> Stage:
        return self._train(model, "train_extractor_ml.py", [*more, "--w2v", self._vectors], [self._vectors.pattern])

    def _abstractor(self) -> Stage:
        return self._train("abstractor", "train_abstractor.py", ["--w2v", self._vectors], [self._vectors.pattern])

    def _reinforced(self, model: str, abstractive: bool) -> Stage:
        parts = {"ext_dir": "ext_rnn", **({"abs_dir": "abstractor"} if abstractive else {})}
        arguments = flags({name: self.model(part) for name, part in parts.items()})
        return self._train(model, "train_full_rl.py", arguments, [self._weights(part) for part in parts.values()])

    def _pointer_generators(self) -> Iterator[Stage]:
        first, second = FLAT
        script = "train_pointer_generator.py"
        yield self._train(first, script, ["--w2v", self._vectors], [self._vectors.pattern])
        yield self._train(second, script, ["--coverage", "--init_from", self.model(first)], [self._weights(first)])

    def _train(self, model: str, script: str, arguments: Sequence[Argument], inputs: list[str]) -> Stage:
        folder = self.model(model)
        return self._stage(
            model,
            [script, "--path", folder, *self._data_dir, *arguments],
            inputs=[self._data("train"), self._data("val"), *inputs],
            outputs=[self._weights(model), f"{folder}/meta.json", f"{folder}/metrics.jsonl"],
            resumes=f"{folder}/resume.pt",
            replaces=[folder],
        )

    # Decoding and evaluation

    def _baseline(self, row: str, baseline: Baseline) -> Iterator[Stage]:
        if baseline.extractor is None:
            yield self._decode_baseline(row, baseline, self.split)
            yield self._evaluate(row, str(LEAD))
            return
        chosen = self._run(f"tuning/{row}.json")
        tuning = self._run(f"tuning/{row}")
        yield self._decode_baseline(row, baseline, "val", tuning)
        yield self._stage(
            f"tune-{row}",
            ["-m", "pipeline.tuning", "--decode_dir", tuning, "--path", chosen, *self._data_dir],
            inputs=[f"{tuning}/output_?", self._data("refs/val")],
            outputs=[chosen],
        )
        yield self._decode_baseline(row, baseline, self.split)
        yield self._evaluate(row, Chosen(chosen, "n_ext"), [chosen])

    def _decode_baseline(self, row: str, baseline: Baseline, split: str, path: str | None = None) -> Stage:
        parts = {"ext_dir": baseline.extractor, "abs_dir": "abstractor" if baseline.abstractive else None}
        models = {name: model for name, model in parts.items() if model}
        arguments = flags({name: self.model(model) for name, model in models.items()})
        name = f"decode-{row}" if path is None else f"decode-{row}-val"
        inputs = [self._weights(model) for model in models.values()]
        path = path or self.decoded(row)
        return self._decode(name, "decode_baselines", arguments, inputs, path, f"{path}/output_?", split)

    def _decode_agent(self, row: str, agent: Agent) -> Stage:
        arguments = ["--model_dir", self.model(agent.model), *(["--beam", str(agent.beam)] if agent.beam > 1 else [])]
        inputs, path = [self._weights(agent.model)], self.decoded(row)
        return self._decode(f"decode-{row}", "decode_full_model", arguments, inputs, path, f"{path}/output", self.split)

    def _decode_flat(self, row: str) -> Stage:
        arguments, inputs, path = ["--model_dir", self.model(row)], [self._weights(row)], self.decoded(row)
        script = "decode_pointer_generator"
        return self._decode(f"decode-{row}", script, arguments, inputs, path, f"{path}/output", self.split)

    def _decode(
        self, name: str, script: str, arguments: list[str], inputs: list[str], path: str, output: str, split: str
    ) -> Stage:
        return self._stage(
            name,
            [f"{script}.py", "--path", path, *arguments, *self._data_dir, "--split", split],
            kind=script,
            inputs=[*inputs, self._data(split)],
            outputs=[output, f"{path}/log.json", f"{path}/alignment.jsonl"],
            alone=name.removeprefix("decode-") in TIMED,
            resumes=f"{path}/log.json",
            replaces=[path],
        )

    def _evaluate(self, row: str, n_ext: Argument | None = None, inputs: list[str] | None = None) -> Stage:
        """A baseline's summaries are its first `n_ext` sentences."""
        path = self.decoded(row)
        metrics = ["--rouge", *([] if why_unavailable() else ["--meteor"])]
        command: list[Argument] = ["--decode_dir", path, *self._data_dir, *metrics]
        script, output, scores = "eval_full_model.py", f"{path}/output", f"{path}/scores.json"
        if n_ext is not None:
            script, output, scores = "eval_baselines.py", f"{path}/output_?", f"{path}/top*_scores.json"
            command += ["--n_ext", n_ext]
        return self._stage(
            f"evaluate-{row}",
            [script, *command],
            kind="evaluate",
            inputs=[output, f"{path}/log.json", self._data(f"refs/{self.split}"), *(inputs or [])],
            outputs=[scores],
            figures=r"ROUGE-\S+ Average_F: \S+",
            replaces=[f"{path}/output_top*", f"{path}/top*", f"{path}/scores.json"],
        )

    # Paths

    @property
    def _data_dir(self) -> list[str]:
        return ["--data_dir", str(self.data)]

    @property
    def _vectors(self) -> Found:
        return Found(self._run("word2vec/word2vec.*.bin"))

    def _data(self, name: str) -> str:
        return str(self.data / name)

    def _run(self, name: str) -> str:
        """Outside of the folders that report.rows names, every data set has its own."""
        return str(self.runs / self.prefix.rstrip("-") / name)

    def model(self, model: str) -> str:
        return str(self.runs / self.models_folder / model)

    def _weights(self, model: str) -> str:
        return f"{self.model(model)}/ckpt"

    def decoded(self, row: str) -> str:
        return str(self.runs / self.decode_folder / row)

    def scores(self, row: str) -> str:
        name = "top*_scores.json" if row in BASELINES else "scores.json"
        return f"{self.decoded(row)}/{name}"

    def _stage(
        self,
        name: str,
        command: Sequence[Argument],
        *,
        inputs: list[str],
        outputs: list[str],
        kind: str | None = None,
        alone: bool = False,
        prints: str | None = None,
        figures: str | None = None,
        resumes: str | None = None,
        replaces: list[str] | None = None,
        anew: list[str] | None = None,
    ) -> Stage:
        """With the preset's flags and minutes for the stage, or for its kind."""
        kind = kind or name
        return Stage(
            name=self.prefix + name,
            command=(*command, *flags(self.preset.flags.get(kind, {}))),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            minutes=self.preset.minutes.get(kind, 0.1),
            alone=alone,
            prints=prints,
            figures=figures,
            resumes=resumes,
            replaces=tuple(replaces or ()),
            anew=tuple(anew or ()),
        )
