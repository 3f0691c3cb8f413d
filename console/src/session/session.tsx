import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from "react";
import { useContract } from "../contract.ts";
import { type Api, checkToken, createApi, createQueries } from "./api.ts";
import type { OpenedSession } from "./open-session.ts";
import { SignIn, SignInPage } from "./sign-in.tsx";

/** What a page knows about who is signed in. */
export interface Session {
  readonly api: Api;
  /** The claims of the token; empty if it cannot be read here. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether the token is renewed before it expires. */
  readonly isRenewed: boolean;
  /** Ends the session, and forgets everything that was read with it. */
  signOut(): void;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** Who is signed in. */
export function useSession(): Session {
  return use(SessionContext)!;
}

/**
 * Asks to sign in. When the server no longer accepts the token, it asks again over the page, which keeps what has been
 * typed.
 */
export function SessionProvider({
  children,
  opened,
}: {
  readonly children: ReactNode;
  readonly opened: OpenedSession;
}) {
  const { registry } = useContract();
  const { tokens } = opened;
  const [problem, setProblem] = useState(opened.problem);
  const [claims, setClaims] = useState(tokens.claims);
  const [isExpired, setExpired] = useState(false);
  const [api, queries] = useMemo(
    (): [Api, QueryClient] => [
      createApi(registry, tokens),
      createQueries(() => tokens.claims !== undefined && setExpired(true)),
    ],
    [registry, tokens],
  );

  const forget = useCallback(() => {
    queries.clear();
    sessionStorage.clear(); // drafts of forms
  }, [queries]);
  useEffect(() => {
    const show = () => {
      setClaims(tokens.claims);
      setExpired(false);
      if (tokens.claims === undefined) forget();
      else void queries.invalidateQueries();
    };
    return tokens.watch((news) => {
      if (tokens.claims !== undefined && !tokens.hasSession) return; // a pasted token has nothing to do with it
      if (news === "ended") {
        tokens.forget();
        show();
        return;
      }
      const before = tokens.claims?.sub;
      tokens.renew().then(
        () => (before === undefined || before === tokens.claims?.sub ? show() : location.reload()),
        () => {}, // the next call says what is wrong
      );
    });
  }, [tokens, queries, forget]);

  const signIn = async (token: string) => {
    await checkToken(registry, token);
    tokens.take(token);
    setProblem(undefined);
    setClaims(tokens.claims);
    setExpired(false);
    void queries.invalidateQueries();
  };
  if (claims === undefined) return <SignInPage signIn={signIn} problem={problem} />;
  const signOut = () =>
    void tokens.end().then(
      () => {
        forget();
        setClaims(undefined);
        setExpired(false);
      },
      (error: Error) =>
        notifications.show({
          title: "You are still signed in",
          message: error.message,
          color: "red",
          autoClose: false,
        }),
    );
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={{ api, claims, isRenewed: tokens.hasSession, signOut }}>
        {children}
        <Modal
          opened={isExpired}
          onClose={signOut}
          title="Your session has ended"
          closeButtonProps={{ "aria-label": "Sign out" }}
          centered
        >
          <SignIn signIn={signIn} />
        </Modal>
      </SessionContext>
    </QueryClientProvider>
  );
}
