import { Center, Loader } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type Contract, ContractContext, loadContract } from "./contract.ts";
import { ErrorPanel } from "./error-panel.tsx";
import { router } from "./routes.tsx";
import { SessionProvider } from "./session/session.tsx";

/** The console: loads the contract, asks for a token, shows the page of the address. */
export function Console() {
  const [contract, setContract] = useState<Contract>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    loadContract().then(setContract, setError);
  }, []);
  if (error !== undefined) return <ErrorPanel error={error} />;
  if (contract === undefined)
    return (
      <Center h="60vh">
        <Loader aria-label="Loading the console" />
      </Center>
    );
  return (
    <ContractContext value={contract}>
      <SessionProvider>
        <RouterProvider router={router} />
      </SessionProvider>
    </ContractContext>
  );
}
