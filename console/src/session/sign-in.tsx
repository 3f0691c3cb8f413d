import { Anchor, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { PlatformError } from "../../../src/client/index.ts";

interface SignInProps {
  /** Errors: those of a call. */
  signIn(token: string): Promise<void>;
}

/** The page of somebody who is not signed in, at every address. */
export function SignInPage({ signIn }: SignInProps) {
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder shadow="sm" p="xl" maw={460} w="100%">
        <Title order={1} size="h2">
          Platform API
        </Title>
        <Text c="dimmed" mb="lg">
          Sign in to see and change what is yours.
        </Text>
        <SignInForm signIn={signIn} />
        <Text size="sm" c="dimmed" mt="lg">
          A token for testing: <Code>npx platform-api token</Code> on the machine of the server. People who signed in on
          the command line have one by <Code>platform token --print</Code>.{" "}
          <Anchor href="/docs" underline="always">
            API reference
          </Anchor>
        </Text>
      </Paper>
    </Center>
  );
}

/** Takes a token. */
export function SignInForm({ signIn }: SignInProps) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const text = token.trim().replace(/^Bearer /i, "");
    if (text === "") {
      setProblem("Paste a token");
      return;
    }
    setBusy(true);
    signIn(text)
      .catch((error: unknown) => setProblem(problemOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <PasswordInput
          label="Token"
          description="Kept in the memory of this tab only: it is gone when you reload the page."
          autoComplete="off"
          data-autofocus
          value={token}
          error={problem}
          onChange={({ currentTarget }) => {
            setToken(currentTarget.value);
            setProblem(undefined);
          }}
        />
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

function problemOf(error: unknown): string {
  if (!(error instanceof PlatformError)) return "This is not a token: it has characters that no token has";
  const id = error.requestId === undefined ? "" : ` (request ${error.requestId})`;
  return `${error.rawMessage}${id}`;
}
