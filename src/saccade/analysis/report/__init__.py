# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Report of a folder of runs: ranking of variants, differences with confidence intervals, and costs.

Every number comes from the runs' metrics.jsonl and config.json, and the direction of a metric from their
declared_metrics.json. Error messages of failed runs come from sweep.json, samples from samples.jsonl, and the
environment of runs from provenance.jsonl.

A report imports no part of a run; models are opened in `inside/`.
"""
