# Saccade with its launchers and experiments, on a CPU or on NVIDIA GPUs:
#
#     docker build --tag saccade .                             # --build-arg EXTRA=cuda13 for GPUs
#     docker run --volume "$PWD/runs:/runs" saccade train --config=causal_lm/quickstart --workdir=/runs/a
#
# A test runs the RUN lines in an empty environment; the image itself has not been built.
FROM python:3.13-slim
ARG EXTRA=train
WORKDIR /saccade
COPY . .
RUN pip install --no-cache-dir ".[$EXTRA]"
ENTRYPOINT ["saccade"]
