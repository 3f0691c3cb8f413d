import { Code as CallCode } from "@connectrpc/connect";
import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { PlatformError } from "../../src/client/index.ts";
import { CopyText } from "./copy.tsx";

/** What went wrong, in words to act on, with the id of the request to report. */
export function ErrorPanel({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const isCall = error instanceof PlatformError;
  return (
    <Alert
      role="alert"
      variant="default"
      className="notice"
      title={isCall ? callTitle(error) : "The console failed"}
      m="md"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="comment">
          {isCall ? error.rawMessage : String(error)}
        </Text>
        {isCall && (
          <Group gap="xs">
            <Code>{error.reason}</Code>
            {error.requestId !== undefined && <CopyText label="request id" text={error.requestId} />}
          </Group>
        )}
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

function callTitle({ code }: PlatformError): string {
  switch (code) {
    case CallCode.Unavailable:
      return "The server cannot be reached";
    case CallCode.NotFound:
      return "This does not exist, or you may not see it";
    default:
      return "The server refused the request";
  }
}
