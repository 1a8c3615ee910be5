"""The models in the box: `pretrained/`, an agent with its abstractor and the rnn-ext that it began as.

    python -m checkpoints.pretrained --model_dir runs/cnndm/models/rl --ext_dir runs/cnndm/models/ext_rnn \\
                                     --tuning runs/cnndm/tuning

writes it in the released layout, with the released names, shapes and file format, so that the released code
loads it as well. The weights are rounded to half precision, which halves the files; `load_state_dict` turns
them into a network's own float32 again. What training needs beyond the weights stays behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkpoints.directory import (
    ABSTRACTOR,
    AGENT,
    RNN_EXTRACTOR,
    best_checkpoint,
    load,
    read_checkpoint,
    write_description,
)
from checkpoints.tensor_files import save_tensors
from support.errors import UserError, run
from support.files import atomic_directory, read_json, write_json
from support.flags import flag, parse

TUNED = ("rnn_ext.json", "rnn_ext_abs.json")
PRETRAINED = Path(__file__).parents[1] / "pretrained"
RELEASED_MODELS = "https://github.com/ChenRocks/fast_abs_rl"


@dataclass(frozen=True, kw_only=True)
class Flags:
    model_dir: str = flag(help="directory that train_full_rl.py wrote, with its abstractor")
    ext_dir: str = flag(help="directory of the rnn extractor that it began as")
    tuning: str | None = flag(None, "folder of rnn_ext.json and rnn_ext_abs.json, by tune_n_ext.py, for these models")
    out: str = flag(str(PRETRAINED), "directory to write; one that is there is replaced")


def pretrained_directory() -> Path:
    """That of this project; whoever lacks it learns where models come from."""
    if not PRETRAINED.is_dir():
        raise UserError(
            f"there is no model in {PRETRAINED}: train one (./reproduce.sh --data_dir D) or take the authors' "
            f"({RELEASED_MODELS}), and name its directory by --model_dir"
        )
    return PRETRAINED


def main() -> None:
    flags = parse(Flags, __doc__ or "")
    out, agent = Path(flags.out).resolve(), Path(flags.model_dir)
    if not flags.tuning and (out / "tuning").exists():
        raise UserError(f"{out / 'tuning'} would be lost: name it by --tuning if it is of these models, or remove it")
    tuned = read_tuned(Path(flags.tuning)) if flags.tuning else {}
    with atomic_directory(out) as folder:
        worst = max(
            write_half(agent, folder, AGENT),
            write_half(agent / "abstractor", folder / "abstractor", ABSTRACTOR),
            write_half(Path(flags.ext_dir), folder / "extractor", RNN_EXTRACTOR),
        )
        for name, content in tuned.items():
            (folder / "tuning").mkdir(exist_ok=True)
            write_json(folder / "tuning" / name, content)
        megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    print(f"{out}: {megabytes:.1f} MB; rounding changed no weight by more than {worst:.1g}")


def read_tuned(folder: Path) -> dict[str, Any]:
    """The numbers of sentences of rnn-ext without and with the abstractor."""
    tuned = {name: read_json(folder / name) for name in TUNED}
    for name, content in tuned.items():
        if not (isinstance(content, dict) and isinstance(content.get("n_ext"), int)):
            raise UserError(f"{folder / name} has no number n_ext: tune_n_ext.py writes it")
    return tuned


def write_half(source: Path, target: Path, net: str) -> float:
    """Copies a model directory with its best checkpoint alone -> the largest change of a weight."""
    model = load(source, nets=(net,))
    best = best_checkpoint(source, highest=net == AGENT)
    content = read_checkpoint(best.path)
    rounded = {name: weight.half() for name, weight in content["state_dict"].items()}
    if not all(bool(weight.isfinite().all()) for weight in rounded.values()):
        raise UserError(f"{best.path} has weights that half precision cannot hold")
    write_description(target, model.meta, model.vocabulary, "agent_vocab.pkl" if net == AGENT else "vocab.pkl")
    kept: dict[str, Any] = {name: value for name, value in content.items() if name == "val_metric"}
    (target / "ckpt").mkdir()
    path = target / "ckpt" / best.path.name
    save_tensors(path, {**kept, "state_dict": rounded}, legacy=True)
    return max(float((weight - rounded[name]).abs().max()) for name, weight in content["state_dict"].items())


if __name__ == "__main__":
    run(main)
