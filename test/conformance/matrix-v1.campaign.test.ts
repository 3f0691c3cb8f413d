import { methodsOfV1 } from "./contract.ts";
import { describeMatrix } from "./matrix.ts";

describeMatrix(methodsOfV1);
