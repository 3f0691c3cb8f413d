import { Modal } from "@mantine/core";
import { type QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useMemo, useState } from "react";
import { claimsOf } from "../../../src/client/index.ts";
import { useContract } from "../contract.ts";
import { type Api, createApi, createQueries } from "./api.ts";
import { SignInForm, SignInPage } from "./sign-in.tsx";

/** What a page knows about who is signed in. */
export interface Session {
  readonly api: Api;
  /** The claims of the token; empty if it cannot be read here. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Forgets the token and everything that was read with it. */
  signOut(): void;
}

const SessionContext = createContext<Session | undefined>(undefined);

/** Who is signed in. */
export function useSession(): Session {
  return use(SessionContext)!;
}

/**
 * Asks for a token, and keeps it in the memory of the tab. A token that the server no longer accepts is asked for again
 * over the page, which keeps what has been typed.
 */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { registry } = useContract();
  const [token, setToken] = useState<string>();
  const [isExpired, setExpired] = useState(false);
  const [api, queries] = useMemo((): [Api, QueryClient] => {
    const made = createApi(registry);
    return [made, createQueries(() => made.hasToken() && setExpired(true))];
  }, [registry]);

  const signIn = async (candidate: string) => {
    await api.signIn(candidate);
    setToken(candidate);
    setExpired(false);
    void queries.invalidateQueries();
  };
  if (token === undefined) return <SignInPage signIn={signIn} />;
  const signOut = () => {
    api.signOut();
    queries.clear();
    setToken(undefined);
    setExpired(false);
  };
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={{ api, claims: claimsOf(token), signOut }}>
        {children}
        <Modal opened={isExpired} onClose={signOut} title="Your session has ended" centered>
          <SignInForm signIn={signIn} />
        </Modal>
      </SessionContext>
    </QueryClientProvider>
  );
}
