/** A Worker for tests: bodies, streams, errors, cancellation and CORS. It runs beside the code of `library.v1`. */
import { Code, ConnectError } from "@connectrpc/connect";
import { createFetchHandler, fromRouter } from "@platform-api/rest";
import { Library } from "./gen/fixture_pb.js";

/** How many streams have been aborted. */
let aborted = 0;
const encode = (text) => new TextEncoder().encode(text);

const routes = (router) =>
  router.service(Library, {
    getRepo: ({ uid }) => ({ uid, total: BigInt(aborted) }),
    getImage: ({ digest }) => {
      throw new ConnectError(`error ${digest}`, Number(digest));
    },
    echo: (message) => message,
    upload: (message) => message,
    async uploadStream(messages) {
      let length = 0;
      let contentType;
      for await (const { content } of messages) {
        contentType ??= content.contentType;
        length += content.data.length;
      }
      return { content: { contentType: "text/plain", data: encode(`${contentType}: ${length}`) } };
    },
    async *watch({ count, failAfter }, { signal }) {
      if (count > 1000) signal.addEventListener("abort", () => aborted++);
      for (let i = 0; i < count; i++) {
        if (i + 1 === failAfter) throw new ConnectError("gone", Code.Unavailable);
        yield { name: String(i), description: count > 1000 ? "x".repeat(10_000) : "" };
      }
    },
  });

export default {
  fetch: createFetchHandler({
    ...fromRouter(routes),
    cors: { origins: ["https://app.example.com"] },
    limits: { maxBodyBytes: 100_000 },
  }),
};
