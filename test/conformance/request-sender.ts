/** A thread that makes HTTP requests, so that the thread of the server has no work with them. */
import { Agent, type RequestOptions, request } from "node:http";
import { parentPort } from "node:worker_threads";

/** What to send, and how often. The thread confirms it, and sends when it is told. */
export interface Sending {
  readonly options: RequestOptions;
  readonly body: Uint8Array | undefined;
  readonly times: number;
}

/** The last answer. */
export interface SentRequest {
  readonly status: number;
  readonly answerBytes: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let sending: Sending;

parentPort!.on("message", (message: Sending | "send") => {
  if (message === "send") {
    void sendAll().then((sent) => parentPort!.postMessage(sent));
    return;
  }
  sending = message;
  parentPort!.postMessage("ready");
});

async function sendAll(): Promise<SentRequest> {
  let sent: SentRequest = { status: 0, answerBytes: 0 };
  for (let i = 0; i < sending.times; i++) sent = await send(sending);
  return sent;
}

/** Status 0: the connection was closed. */
function send({ options, body }: Sending): Promise<SentRequest> {
  return new Promise((resolve) => {
    const sent = { status: 0, answerBytes: 0 };
    request({ ...options, agent }, (response) => {
      sent.status = response.statusCode!;
      response.on("data", (chunk: Buffer) => {
        sent.answerBytes += chunk.length;
      });
      response.on("close", () => resolve(sent));
    })
      .on("error", () => resolve(sent))
      .end(body);
  });
}
