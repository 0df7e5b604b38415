# 9a047a9f84ef41d5e3e85752241c6015
FROM python:3.13 AS build
RUN python -m venv /opt/kinetic
COPY requirements.txt /build/
RUN /opt/kinetic/bin/python -m pip install --no-cache-dir --compile -r /build/requirements.txt
RUN /opt/kinetic/bin/python -m pip list --format=freeze --exclude kinetic-run > /tmp/installed.txt \
 && /opt/kinetic/bin/python -m pip install --no-cache-dir --compile -c /tmp/installed.txt 'kinetic-run[gcs,debug]==0.2.0' 'jax[tpu]'

FROM python:3.13-slim
RUN groupadd --gid 65532 kinetic \
 && useradd --no-log-init --create-home --uid 65532 --gid 65532 kinetic \
 && (python -m compileall -q -j 0 /usr/local/lib/python3.13 || true)
COPY --from=build /opt/kinetic /opt/kinetic
ENV PATH=/opt/kinetic/bin:$PATH
USER 65532:65532
WORKDIR /home/kinetic
