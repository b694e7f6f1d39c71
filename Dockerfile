# The server as an image:
#
#   docker build -t indexshare .
#   docker run --rm -p 127.0.0.1:8080:8080 -v /srv/models/glm-5.2:/model:ro indexshare
#
# Other commands and flags stand behind the image's name: docker run ... indexshare serve /model --host 0.0.0.0 --context 128K
FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN apt-get update && apt-get install -y --no-install-recommends make
RUN make install PREFIX=/opt/indexshare
# The packages whose libraries the program loads, for the image that runs it.
RUN ldd /opt/indexshare/bin/indexshare | awk '$2 == "=>" { print "*" $3 }' | xargs dpkg-query -S | \
    cut -d: -f1 | sort -u > /opt/indexshare/packages

FROM debian:12-slim
COPY --from=build /opt/indexshare /usr/local
RUN apt-get update && apt-get install -y --no-install-recommends $(cat /usr/local/packages) && \
    rm -rf /var/lib/apt/lists/*
RUN useradd --system --shell /usr/sbin/nologin indexshare
USER indexshare
EXPOSE 8080
HEALTHCHECK --start-period=30m CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /ready HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && grep -q '^HTTP/1.1 200 ' <&3"]
ENTRYPOINT ["indexshare"]
CMD ["serve", "/model", "--host", "0.0.0.0"]
