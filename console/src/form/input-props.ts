import type { ReactNode } from "react";

/** What every kind of input is given. */
export interface InputProps {
  readonly label: string;
  readonly description: ReactNode;
  readonly error: string | undefined;
  readonly disabled: boolean;
  readonly withAsterisk: boolean;
}
