# 91a48e3ba4be00219651df5d0ac77069
FROM python:3.12 AS build
RUN python -m venv /opt/kinetic
RUN /opt/kinetic/bin/python -m pip list --format=freeze --exclude kinetic-run > /tmp/installed.txt \
 && /opt/kinetic/bin/python -m pip install --no-cache-dir --compile -c /tmp/installed.txt 'kinetic-run[gcs,s3,debug]==0.1.0' 'jax'

FROM python:3.12-slim
RUN groupadd --gid 65532 kinetic \
 && useradd --no-log-init --create-home --uid 65532 --gid 65532 kinetic \
 && (python -m compileall -q -j 0 /usr/local/lib/python3.12 || true)
COPY --from=build /opt/kinetic /opt/kinetic
ENV PATH=/opt/kinetic/bin:$PATH
USER 65532:65532
WORKDIR /home/kinetic
