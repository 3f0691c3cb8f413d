import {
  Alert,
  Anchor,
  Button,
  Center,
  Code,
  Divider,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { type FormEvent, useState } from "react";
import { PlatformError } from "../../../src/client/index.ts";
import { isUid } from "../../../src/uid.ts";
import { shortUid } from "../copy.tsx";
import { type ConsoleIssuer, issuerName, readIssuers, rememberedProvider } from "./issuers.ts";

interface SignInProps {
  /** Errors: those of a call. */
  signIn(token: string): Promise<void>;
}

/** The page of somebody who is not signed in, at every address. `problem`: why a sign-in has failed. */
export function SignInPage({ signIn, problem }: SignInProps & { readonly problem: string | undefined }) {
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder shadow="sm" p="xl" maw={460} w="100%">
        <Title order={1} size="h2">
          Platform API
        </Title>
        <Text c="dimmed" mb="lg">
          Sign in to see and change what is yours.
        </Text>
        {problem !== undefined && <Problem text={problem} />}
        <SignIn signIn={signIn} />
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

/** The ways to sign in: the providers of the server, and a token. */
export function SignIn({ signIn }: SignInProps) {
  const [issuers] = useState(readIssuers);
  return (
    <Stack pt={4}>
      {issuers.length > 0 && (
        <>
          {namesOf(issuers).map((name, index) => (
            <Provider key={name} issuer={issuers[index]!} name={name} isFirst={index === 0} />
          ))}
          <Divider label="or with a token" />
        </>
      )}
      <TokenForm signIn={signIn} isOnlyWay={issuers.length === 0} />
    </Stack>
  );
}

/** A button that leaves for the pages of a provider. */
function Provider({ issuer, name, isFirst }: ProviderProps) {
  const [remembered] = useState(() => (issuer.provider === undefined ? rememberedProvider(issuer) : undefined));
  const [named, setNamed] = useState(remembered ?? "");
  const [isLeaving, setLeaving] = useState(false);
  const [fault, setFault] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const leave = async () => {
    const provider = issuer.provider ?? (named.trim() || undefined);
    if (provider !== undefined && !isUid(provider)) {
      setFault("This is not a uid");
      return;
    }
    setLeaving(true);
    setProblem(undefined);
    try {
      const { leaveForSignIn } = await import("./openid.ts");
      await leaveForSignIn({ ...issuer, provider });
    } catch (error) {
      setProblem((error as Error).message);
      setLeaving(false);
    }
  };
  return (
    <>
      {problem !== undefined && <Problem text={problem} />}
      {remembered !== undefined && (
        <TextInput
          label={`Identity provider for ${name}`}
          description="The uid of the identity provider of your organisation. An owner of the organisation knows it."
          value={named}
          error={fault}
          onChange={({ currentTarget }) => {
            setNamed(currentTarget.value);
            setFault(undefined);
          }}
        />
      )}
      <Button data-autofocus={isFirst || undefined} loading={isLeaving} onClick={() => void leave()}>
        {`Sign in with ${name}`}
      </Button>
    </>
  );
}

interface ProviderProps {
  readonly issuer: ConsoleIssuer;
  readonly name: string;
  readonly isFirst: boolean;
}

/** What people know each issuer by. Those that are there several times also have what they differ in. */
function namesOf(issuers: readonly ConsoleIssuer[]): string[] {
  return issuers.map(({ issuer, clientId, provider }) => {
    const isOnly = issuers.filter((other) => other.issuer === issuer).length === 1;
    return isOnly
      ? issuerName(issuer)
      : `${issuerName(issuer)} (${provider === undefined ? clientId : shortUid(provider)})`;
  });
}

function Problem({ text }: { readonly text: string }) {
  return (
    <Alert role="alert" variant="default" className="notice" mb="md" title="You are not signed in">
      {text}
    </Alert>
  );
}

/** Takes a token. */
function TokenForm({ signIn, isOnlyWay }: SignInProps & { readonly isOnlyWay: boolean }) {
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
          data-autofocus={isOnlyWay || undefined}
          value={token}
          error={problem}
          onChange={({ currentTarget }) => {
            setToken(currentTarget.value);
            setProblem(undefined);
          }}
        />
        <Button type="submit" loading={isBusy} variant={isOnlyWay ? "filled" : "default"}>
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
