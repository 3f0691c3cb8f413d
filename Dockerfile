# The image of platform-api. docs/deploy.md tells how to build, verify and run it, and how to pin both bases by digest.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run pack -- /tmp && npm run --silent sbom -- --image /tmp/sbom.cdx.json
# The package has all that it runs.
WORKDIR /app
RUN tar -xzf /tmp/platform-api-[0-9]*.tgz --strip-components=1 \
  && cp /tmp/sbom.cdx.json . \
  && rm -r dist/testing \
  && mkdir /data

FROM ${BASE_IMAGE}
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
COPY --from=build --chown=65532:65532 /data /data
ENV NODE_ENV=production \
  PLATFORM_LISTEN=0.0.0.0:8080
USER 65532:65532
WORKDIR /
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# Not /readyz: a restart does not fix a database that is down.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/platform.js"]
CMD ["serve"]

ARG BASE_IMAGE
ARG VERSION=0.2.0
ARG REVISION=
ARG SOURCE=
LABEL org.opencontainers.image.title="platform-api" \
  org.opencontainers.image.description="Platform API v2: identity, registry and advisories over gRPC, Connect and JSON/REST" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.source="${SOURCE}" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.base.name="${BASE_IMAGE}"
