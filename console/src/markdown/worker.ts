/** The worker that parses Markdown: foreign texts can be made so that this takes minutes, and pages go on meanwhile. */
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";

self.onmessage = ({ data }: MessageEvent<string>) => {
  let tree: object | undefined;
  const keep = () => (root: object) => {
    tree = root;
  };
  try {
    ReactMarkdown({ children: data, remarkPlugins: [remarkGfm], rehypePlugins: [keep] });
    postMessage({ tree });
  } catch (error) {
    postMessage({ problem: String(error) });
  }
};
