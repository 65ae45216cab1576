# factseek, serving the bundled example: docker build -t factseek . && docker run --rm -p 127.0.0.1:8000:8000 factseek
# Java and the embedded encoder come as Python packages: nothing else is installed.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
# Where uv reads packages, if not from its default. torch only exports and trains: serving and indexing do without it.
ARG UV_DEFAULT_INDEX
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 UV_NO_CACHE=1 XDG_CACHE_HOME=/var/cache
RUN python -m venv /opt/factseek && pip install uv
ENV PATH=/opt/factseek/bin:$PATH VIRTUAL_ENV=/opt/factseek
WORKDIR /src
COPY . .
RUN uv pip install --override packaging/serving.txt --constraint constraints.txt '.[multilingual,office]'
# The example is indexed here, which also exports the encoder: a container needs no network. A search leaves what starts
# quicker and takes less memory the next time, the archive of Java's classes and the model of languages.
WORKDIR /srv/factseek
RUN cp -r /src/config.yaml /src/examples . && python examples/build.py indexes \
    && factseek search "Vaccination has nearly wiped out measles" --index indexes/example-en > /dev/null

FROM ${BASE}
RUN useradd --system --uid 10001 --home-dir /srv/factseek --shell /usr/sbin/nologin factseek
COPY --from=build /opt/factseek /opt/factseek
COPY --from=build --chown=10001:10001 /var/cache/factseek /var/cache/factseek
COPY --from=build --chown=10001:10001 /srv/factseek /srv/factseek
ENV PATH=/opt/factseek/bin:$PATH XDG_CACHE_HOME=/var/cache PYTHONDONTWRITEBYTECODE=1
WORKDIR /srv/factseek
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=5)"]
ENTRYPOINT ["factseek"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
