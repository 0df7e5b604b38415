# 4984f65424eea2a5b3cd7eafd7780d0d
FROM python:3.12 AS build
RUN python -m venv /opt/kinetic
COPY requirements.txt /build/
RUN /opt/kinetic/bin/python -m pip install --no-cache-dir --compile -r /build/requirements.txt
RUN /opt/kinetic/bin/python -m pip list --format=freeze --exclude kinetic-run > /tmp/installed.txt \
 && /opt/kinetic/bin/python -m pip install --no-cache-dir --compile -c /tmp/installed.txt 'kinetic-run[gcs,debug]==0.1.0' 'jax'

FROM python:3.12-slim
RUN groupadd --gid 65532 kinetic \
 && useradd --no-log-init --create-home --uid 65532 --gid 65532 kinetic \
 && (python -m compileall -q -j 0 /usr/local/lib/python3.12 || true)
COPY --from=build /opt/kinetic /opt/kinetic
ENV PATH=/opt/kinetic/bin:$PATH
USER 65532:65532
WORKDIR /home/kinetic
