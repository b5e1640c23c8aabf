"""The exact no-look-ahead filter on the data sets of the shelf's certificates, to put beside each guide.

    python benchmarks/filters.py                  # every guide on the shelf whose model has such a filter
    python benchmarks/filters.py ncp-overlap2d    # one of them

The figures of a certificate come from fresh data sets that its seed fixes; this measures the filter on the
same ones. About a minute a guide on one core.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyroclust import list_guides, load_guide
from pyroclust.calibration import CertificateSettings, certify
from pyroclust.distributions import ConjugateComponent
from pyroclust.guides import PredictiveFilter

RESULTS = Path(__file__).parent / "results" / "filters.json"


def measure(name: str, content: dict[str, Any]) -> dict[str, Any] | None:
    guide = load_guide(name)
    if not isinstance(getattr(guide.model, "component", None), ConjugateComponent):
        return None
    rows = content["sampled"]
    settings = replace(
        CertificateSettings.nothing(seed=content["seed"]),
        num_exact=content["exact"][0]["num_datasets"],
        num_sampled=rows[0]["num_datasets"],
        sampled_points=tuple(row["num_points"] for row in rows),
        num_draws=rows[0]["num_draws"],
    )
    exact_filter = PredictiveFilter(guide.model, conditions=getattr(guide, "conditions", ()))
    found = certify(exact_filter, settings=settings)
    return {
        "guide": name,
        "mean KL": found.exact[0].mean_kl,
        **{f"efficiency {row.num_points}": row.median_efficiency for row in found.sampled},
        **{f"data sets {row.num_points}": row.num_datasets for row in found.sampled},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("guides", nargs="*", help="names on the shelf; all of them by default")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    cards = {card.name: card.certificate for card in list_guides() if card.certificate}
    found = {row["guide"]: row for row in json.loads(args.out.read_text())} if args.out.exists() else {}
    for name in args.guides or [
        name for name in cards if name.startswith("ncp-") and "published" not in name
    ]:
        if (row := measure(name, dict(cards[name] or {}))) is not None:
            found[name] = row
            print(row, flush=True)
    args.out.write_text(json.dumps([found[name] for name in sorted(found)], indent=1) + "\n")


if __name__ == "__main__":
    main()
