import { Center, Loader } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { ContractContext, loadContract } from "./contract.ts";
import { ErrorPanel } from "./error-panel.tsx";
import { router } from "./routes.tsx";
import { openSession } from "./session/open-session.ts";
import { SessionProvider } from "./session/session.tsx";

/** The console: loads the contract, signs in, shows the page of the address. */
export function Console() {
  const [opened, setOpened] = useState<Awaited<ReturnType<typeof open>>>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    open().then(setOpened, setError);
  }, []);
  if (error !== undefined) return <ErrorPanel error={error} />;
  if (opened === undefined)
    return (
      <Center h="60vh">
        <Loader aria-label="Loading the console" />
      </Center>
    );
  return (
    <ContractContext value={opened.contract}>
      <SessionProvider opened={opened.session}>
        <RouterProvider router={router} />
      </SessionProvider>
    </ContractContext>
  );
}

async function open() {
  const [contract, session] = await Promise.all([loadContract(), openSession()]);
  return { contract, session };
}
