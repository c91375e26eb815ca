# The service in a container. It has not been run in Docker yet.
#   docker build --tag repo-collections .
#   docker run --init --publish 8000:8000 --volume collections:/app/data repo-collections
FROM denoland/deno:2.9.6

WORKDIR /app
RUN mkdir data && chown deno:deno . data
USER deno

# deno.json names tests/ and bench/ as workspace members; the service needs no more of them than that.
COPY --chown=deno:deno deno.json deno.lock fresh.config.ts main.ts SECURITY.md ./
COPY --chown=deno:deno tests/deno.json ./tests/
COPY --chown=deno:deno bench/deno.json ./bench/
COPY --chown=deno:deno jsr ./jsr
COPY --chown=deno:deno lib ./lib
COPY --chown=deno:deno packages ./packages
COPY --chown=deno:deno routes ./routes
COPY --chown=deno:deno static ./static
COPY --chown=deno:deno docs ./docs
COPY --chown=deno:deno examples ./examples

# Chooses between the published packages and the stand-ins, once for the image, and downloads what the service runs.
RUN deno cache --config="$(deno task -q config)" main.ts $(find routes -name '*.ts')

ENV KV_PATH=./data/cache.db
VOLUME /app/data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["deno", "eval", "--no-config", "const { ok } = await fetch(`http://127.0.0.1:${Deno.env.get('PORT') || 8000}/api/health`); Deno.exit(ok ? 0 : 1)"]

CMD ["deno", "task", "start"]
