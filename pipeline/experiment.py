"""The stages of a data set, from a corpus to evaluated rows: what is run, on what, and where the results go.

    <runs>/word2vec/  models/<model>/  tuning/<row>.json  decode/<row>/     see report.rows
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from data.vocabulary import COUNTS_FILE
from metrics.meteor_jar import why_unavailable
from pipeline.presets import Preset
from pipeline.stage import Argument, Chosen, Found, Stage, flags
from pipeline.stamps import Stamps
from report.rows import MODELS, ORIGINAL, Agent, Flat, Parts
from sample import RECIPE_FILE

ROOT = Path(__file__).parents[1]


class Training(NamedTuple):
    script: str
    starts_from: Mapping[str, str] = {}
    more: tuple[str, ...] = ()


# In the order in which they start where cores are free: what much else waits for comes first.
TRAININGS = {
    "ext_rnn": Training("train_extractor_ml.py"),
    "abstractor": Training("train_abstractor.py"),
    "rl": Training("train_full_rl.py", {"ext_dir": "ext_rnn", "abs_dir": "abstractor"}),
    "pointer_generator": Training("train_pointer_generator.py"),
    "pointer_generator_coverage": Training(
        "train_pointer_generator.py", {"init_from": "pointer_generator"}, ("--coverage",)
    ),
    "rl_ext": Training("train_full_rl.py", {"ext_dir": "ext_rnn"}),
    "ext_ff": Training("train_extractor_ml.py", more=("--net-type", "ff")),
}
CURVES = ("rl", "rl_ext")  # models whose learning curve is drawn
# Kinds of stages that take --workers, by default one for each core.
ON_ALL_CORES = ("labels", "word2vec", "decode_baselines", "decode_full_model", "decode_pointer_generator")


class System(NamedTuple):
    """Outputs of a system that is not run here."""

    label: str
    outputs: Path


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A data set, trained and decoded into its own folders; `prefix` tells its stages from another one's."""

    data: Path
    runs: Path
    preset: Preset
    rows: Mapping[str, Parts | Agent | Flat]
    systems: Mapping[str, System] = field(default_factory=dict)
    timed: frozenset[str] = frozenset()  # rows whose decoding runs alone
    given: Mapping[str, Path] = field(default_factory=dict)  # models that need no training
    tuned: Path | None = None  # folder of <row>.json with the number of sentences; None: tuned here
    asked_split: str | None = None
    prefix: str = ""
    decode_folder: str = ORIGINAL
    models_folder: str = MODELS

    @property
    def split(self) -> str:
        """The split that is summarised."""
        has_test = (self.data / "test").is_dir() or self.is_sample
        return self.asked_split or ("test" if has_test else "val")

    @property
    def is_sample(self) -> bool:
        return self.data == self.runs / "data"

    def models(self) -> list[str]:
        """What the rows need trained."""
        wanted = {model for made_by in self.rows.values() for model in made_by.models.values()}
        for model in reversed(TRAININGS):
            wanted |= set(TRAININGS[model].starts_from.values()) if model in wanted else set()
        return [model for model in TRAININGS if model in wanted and model not in self.given]

    def stages(self) -> Iterator[Stage]:
        models = self.models()
        if models or self.is_sample:
            yield from self._prepare()
        yield self._references(self.split)
        for model in models:
            yield self._train(model, TRAININGS[model])
        for row, made_by in self.rows.items():
            yield from self._decode_and_tune(row, made_by)
        for name, system in self.systems.items():
            yield self._take(name, system)
        for row in (*self.rows, *self.systems):
            yield self._evaluate(row)

    # Data

    @property
    def _counts_are_given(self) -> bool:
        """The sample corpus and prepared data sets bring them."""
        counted_here = Stamps(self.runs).begun(self.prefix + "words")
        return self.is_sample or ((self.data / COUNTS_FILE).exists() and not counted_here)

    def _prepare(self) -> Iterator[Stage]:
        train, val = self._data("train"), self._data("val")
        counts, recipe = self._data(COUNTS_FILE), self._data(RECIPE_FILE)
        if self.is_sample:
            yield self._stage(
                "corpus",
                ["-m", "sample", "--out", str(self.data)],
                inputs=[str(ROOT / "sample" / "*.*")],
                outputs=[recipe, counts, *([self._data("test")] if self.split == "test" else [])],
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
            resumes=self._run("word2vec/resume.npz"),
            replaces=[self._run("word2vec")],
            adopted=[self._vectors.pattern],
        )

    def _references(self, split: str) -> Stage:
        return self._stage(
            f"references-{split}",
            ["make_eval_references.py", *self._data_dir, "--split", split],
            inputs=[self._data(split)],
            outputs=[self._data(f"refs/{split}")],
        )

    # Training

    def _train(self, model: str, training: Training) -> Stage:
        folder = self.model(model)
        start: list[Argument] = list(flags({flag: self.model(part) for flag, part in training.starts_from.items()}))
        inputs = [file for part in training.starts_from.values() for file in self._files(part)]
        if not training.starts_from:
            start, inputs = ["--w2v", self._vectors], [self._vectors.pattern, self._data(COUNTS_FILE)]
        outputs = [*self._files(model), f"{folder}/metrics.jsonl"]
        return self._stage(
            model,
            [training.script, "--path", folder, *self._data_dir, *training.more, *start],
            inputs=[self._data("train"), self._data("val"), *inputs],
            outputs=outputs,
            resumes=f"{folder}/resume.pt",
            replaces=[folder],
            adopted=outputs if model in CURVES else self._files(model),
        )

    # Decoding and evaluation

    def _decode_and_tune(self, row: str, made_by: Parts | Agent | Flat) -> Iterator[Stage]:
        yield self._decode(row, made_by)
        if not (isinstance(made_by, Parts) and self._is_tuned_here(made_by)):
            return
        folder = self.decoded(row)
        if self.split != "val":
            folder = self._run(f"tuning/{row}")
            yield self._decode(f"{row}-val", made_by, "val", folder)
        yield self._stage(
            f"tune-{row}",
            ["tune_n_ext.py", "--decode_dir", folder, "--path", self._chosen(row), *self._data_dir],
            kind="tune",
            inputs=[f"{folder}/log.json", f"{folder}/output_?", f"{folder}/alignment.jsonl"],
            outputs=[self._chosen(row)],
        )

    def _is_tuned_here(self, made_by: Parts) -> bool:
        return made_by.n_sentences is None and self.tuned is None

    def _decode(self, name: str, made_by: Parts | Agent | Flat, split: str = "", path: str = "") -> Stage:
        split, path = split or self.split, path or self.decoded(name)
        scripts = {Parts: "decode_baselines", Agent: "decode_full_model", Flat: "decode_pointer_generator"}
        script = scripts[type(made_by)]
        arguments = flags({flag: self.model(model) for flag, model in made_by.models.items()})
        if isinstance(made_by, Agent) and made_by.beam > 1:
            arguments += ["--beam", str(made_by.beam)]
        output = f"{path}/output_?" if isinstance(made_by, Parts) else f"{path}/output"
        return self._stage(
            f"decode-{name}",
            [f"{script}.py", "--path", path, *arguments, *self._data_dir, "--split", split],
            kind=script,
            inputs=[*(file for model in made_by.models.values() for file in self._files(model)), self._data(split)],
            outputs=[output, f"{path}/log.json", f"{path}/alignment.jsonl"],
            alone=name in self.timed,
            resumes=f"{path}/log.json",
            replaces=[path],
        )

    def _take(self, name: str, system: System) -> Stage:
        path, outputs = self.decoded(name), str(system.outputs)
        command = ["-m", "pipeline.other_system", "--system", system.label, "--outputs", outputs, "--path", path]
        return self._stage(
            f"decode-{name}",
            [*command, *self._data_dir, "--split", self.split],
            kind="system",
            inputs=[outputs, self._data(f"refs/{self.split}")],
            outputs=[f"{path}/output", f"{path}/log.json"],
            replaces=[path],
        )

    def _evaluate(self, row: str) -> Stage:
        """A summary of parts is their first `n_ext` sentences."""
        path, made_by = self.decoded(row), self.rows.get(row)
        metrics = ["--rouge", *([] if why_unavailable() else ["--meteor"])]
        command: list[Argument] = ["eval_full_model.py", "--decode_dir", path, *self._data_dir, *metrics]
        output, chosen = f"{path}/output", []
        if isinstance(made_by, Parts):
            output = f"{path}/output_?"
            chosen = [] if made_by.n_sentences else [self._chosen(row)]
            n_ext = str(made_by.n_sentences) if made_by.n_sentences else Chosen(self._chosen(row), "n_ext")
            command = ["eval_baselines.py", *command[1:], "--n_ext", n_ext]
        return self._stage(
            f"evaluate-{row}",
            command,
            kind="evaluate",
            inputs=[output, f"{path}/log.json", self._data(f"refs/{self.split}"), *chosen],
            outputs=[self.scores(row)],
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

    def _chosen(self, row: str) -> str:
        """The file with the number of sentences."""
        return str(self.tuned / f"{row}.json") if self.tuned else self._run(f"tuning/{row}.json")

    def model(self, model: str) -> str:
        return str(self.given.get(model, self.runs / self.models_folder / model))

    def _files(self, model: str) -> list[str]:
        """All that makes a model; an agent may have an abstractor."""
        names = ["ckpt", "meta.json", "*vocab.pkl"]
        names += ["abstractor"] if "abs_dir" in TRAININGS[model].starts_from else []
        return [f"{self.model(model)}/{name}" for name in names]

    def decoded(self, row: str) -> str:
        return str(self.runs / self.decode_folder / row)

    def scores(self, row: str) -> str:
        name = "top*_scores.json" if isinstance(self.rows.get(row), Parts) else "scores.json"
        return f"{self.decoded(row)}/{name}"

    def minutes(self, *names: str) -> float:
        """The preset's estimate under the first of these names that it has."""
        return next((self.preset.minutes[name] for name in names if name in self.preset.minutes), 0.1)

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
        adopted: list[str] | None = None,
    ) -> Stage:
        """With the preset's flags and minutes for the kind of stage, or for this one."""
        kind = kind or name
        chosen = {**self.preset.flags.get(kind, {}), **self.preset.flags.get(name, {})}
        return Stage(
            name=self.prefix + name,
            command=(*command, *flags(chosen)),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            kind=kind,
            minutes=self.minutes(name, kind),
            alone=alone,
            all_cores=kind in ON_ALL_CORES and "workers" not in chosen,
            prints=prints,
            figures=figures,
            resumes=resumes,
            replaces=tuple(replaces or ()),
            anew=tuple(anew or ()),
            adopted=tuple(adopted or ()),
        )
