/**
 * What has reached its end of life: a component is of the product with its name, and of the version of it that its own
 * begins with, as a tag is of the product with the name of its repo.
 */
import type { ReadSession } from "../../store/index.ts";
import { hasEnded, productsIn, productsOf } from "../registry/products.ts";
import type { DecodedImage, Generation } from "./known/components.ts";
import { tagsOf } from "./selected-images.ts";

/** The names that are looked up at once. */
const portion = 1000;

/** Those of the components, which were loaded, that have reached their end of life. */
export async function endedComponents(
  session: ReadSession,
  known: Generation,
  numbers: Iterable<number>,
  nowMs: number,
): Promise<ReadonlySet<number>> {
  const byName = Map.groupBy(numbers, (number) => known.component(number).name);
  const names = [...byName.keys()];
  const ended = new Set<number>();
  for (let start = 0; start < names.length; start += portion) {
    const products = await productsOf(session, names.slice(start, start + portion));
    for (const [name, product] of products)
      for (const number of byName.get(name)!)
        if (hasEnded(product, versionIn(known.component(number).version), nowMs)) ended.add(number);
  }
  return ended;
}

/** Those of the images with a component or a tag that has reached its end of life. */
export async function endedImages(
  session: ReadSession,
  images: readonly DecodedImage[],
  ended: ReadonlySet<number>,
  nowMs: number,
): Promise<readonly DecodedImage[]> {
  const products = await productsIn(session, [...new Set(images.map(({ repo }) => repo))]);
  const tags = await tagsOf(
    session,
    images.filter(({ repo }) => products.has(repo)),
  );
  return images.filter(
    ({ uid, repo, numbers }) =>
      numbers.some((number) => ended.has(number)) ||
      (tags.get(uid) ?? []).some((tag) => hasEnded(products.get(repo), tag, nowMs)),
  );
}

/** The version as a product writes it: without an epoch and `v`. */
function versionIn(version: string): string {
  return version.replace(/^\d+:/, "").replace(/^v(?=\d)/, "");
}
