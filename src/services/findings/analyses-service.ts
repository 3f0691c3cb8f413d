/** The service of analyses: decisions of groups about findings. */
import type { HandlerContext } from "@connectrpc/connect";
import { AnalysesService, type Analysis } from "../../../gen/platform/findings/v1/analyses_pb.ts";
import { actorAt, authorityOf } from "../../auth/index.ts";
import {
  databaseOf,
  environmentOf,
  implement,
  insertResource,
  type MountedService,
  toResponse,
  updateResource,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { analyses, decisionOf } from "../decisions/analyses.ts";
import type { Decision } from "../decisions/decision.ts";
import { componentsAsked, readImagesOf } from "./found-findings.ts";
import type { DecodedImage, Generation, KnownComponents } from "./known/components.ts";
import { ChangedDecisions } from "./known/decisions.ts";
import { allStates } from "./messages.ts";
import { containing, selectImages } from "./selected-images.ts";

/** @param memory what is known about components. */
export function analysesService(memory: KnownComponents): MountedService {
  /** Answers with a row. A call that only validates learns how many findings would change. */
  async function answer(
    row: Row,
    { before, isValidation }: { readonly before?: Row | undefined; readonly isValidation: boolean },
    context: HandlerContext,
  ): Promise<Analysis> {
    const response = await toResponse(analyses, row, context);
    const { nowMs } = environmentOf(context);
    const [old, now] = [before && decisionOf(before), decisionOf(row)];
    if (isValidation)
      environmentOf(context).onValidated = async (session) => {
        response.changedFindingCount = BigInt(await countChanged(session, memory, { old, now, nowMs }));
      };
    return response;
  }

  return implement(AnalysesService, [analyses], {
    async createAnalysis({ parent, analysis, validateOnly }, context) {
      const output = { author: actorAt(authorityOf(context), parent) };
      const row = await insertResource(analyses, parent, analysis, context, { output });
      return answer(row, { isValidation: validateOnly }, context);
    },

    async updateAnalysis({ analysis, updateMask, validateOnly }, context) {
      const uid = analysis?.uid ?? "";
      const before = await databaseOf(context).get(analyses.table, uid);
      const row = await updateResource(analyses, uid, analysis!, updateMask, context);
      return answer(row, { before, isValidation: validateOnly }, context);
    },
  });
}

/** A change of what is decided. */
interface DecisionChange {
  /** Undefined if it is new. */
  readonly old: Decision | undefined;
  readonly now: Decision;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** How many findings in images get another state by a change that is not stored. */
function countChanged(session: ReadSession, memory: KnownComponents, { old, now, nowMs }: DecisionChange) {
  return memory.inTurn(session, async (turn) => {
    const known = await memory.open(session);
    const vulnerabilityIds = [...new Set([...now.ids, ...(old?.ids ?? [])])];
    const selection = await selectImages(session, {}, [now.group]);
    const filter = { states: new Set(allStates), vulnerabilityIds };
    const { ids } = (await componentsAsked(session, known, selection, filter))!;
    const images = await readImagesOf(session, known, containing(selection, ids), turn);
    const components = ids.map((id) => known.numberOf(id));
    const numbers = components.flatMap((component) => known.undecidedNumbersOf(component));
    await known.load(session, numbers);
    const before = await known.decideAmong(session, images, numbers);
    const after = await known.decideAmong(session, images, numbers, new ChangedDecisions(now, nowMs));
    let count = 0;
    for (const [i, image] of before.entries()) {
      for (const component of components) count += differences(known, component, [image, after[i]!]);
      await session.pause();
    }
    return count;
  });
}

/** How many findings of a component have another state in one of two versions of an image than in the other. */
function differences(known: Generation, component: number, images: readonly [DecodedImage, DecodedImage]): number {
  const [before, after] = images.map((image) =>
    image.numbers.find((number) => known.componentOf(number) === component),
  );
  if (before === undefined || before === after) return 0;
  const findings = known.findings(after!);
  return known.findings(before).filter(({ state }, i) => state !== findings[i]!.state).length;
}
