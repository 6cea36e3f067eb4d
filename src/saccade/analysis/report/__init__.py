# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Report of a folder of runs: which variant is best, by how much, with which confidence, and at what cost.

Every number comes from the runs' metrics.jsonl and config.json, and which end of a metric is best from their
declared_metrics.json. Texts do not: why a run failed stands in sweep.json, what its model wrote in samples.jsonl, and
where and with what it ran in provenance.jsonl.

Not here: opening a model (`analysis/inspect/`); a report imports no part of a run.
"""
