"""Where the models in the box are, without torch: whoever lacks them is told at once."""

from __future__ import annotations

from pathlib import Path

from support.errors import UserError

PRETRAINED = Path(__file__).parents[1] / "pretrained"
RELEASED_MODELS = "https://github.com/ChenRocks/fast_abs_rl"


def pretrained_directory() -> Path:
    """That of this project; whoever lacks it learns where models come from."""
    if not (PRETRAINED / "meta.json").is_file():
        raise UserError(
            f"there is no model in {PRETRAINED}: train one (./reproduce.sh --data_dir D) or take the authors' "
            f"({RELEASED_MODELS}), and name its directory by --model_dir, in Python by Summarizer.from_agent(DIRECTORY)"
        )
    return PRETRAINED
