"""Why public functions of calibration and report are not called with anything here."""

_SAMPLER = "takes a sampler, a model and numbers of data sets, which take minutes: cases of tests/faults"
_RESULT = "takes what an analysis returned, no data; tests/report has all kinds of results"
_WEIGHTED = "weights that samplers return together: tests/infer/test_importance.py, tests/infer/test_smc.py"
NOT_TESTED = {
    "diagnostics.normalised_weights": _WEIGHTED,
    "diagnostics.resample": _WEIGHTED,
    "diagnostics.drift": "tables of chains that fit together: tests/diagnostics/test_short_chains.py",
    "diagnostics.nested_rhat": "a number of start_memory",
    "calibration.calibrate": _SAMPLER,
    "calibration.calibrate_near": _SAMPLER,
    "calibration.certify": _SAMPLER,
    "calibration.check_guide": "takes the name or the folder of a guide: cases of tests/faults",
    "calibration.judge_certificate": "takes a certificate, no data",
    "report.notebook_view": _RESULT,
    "report.page_of": _RESULT,
    "report.register_section": "takes functions",
    "report.render_page": _RESULT,
    "report.show_page": _RESULT,
    "report.terminal_view": _RESULT,
}
