import "./chart.css";
import { Table, Text } from "@mantine/core";
import { CartesianGrid, Legend, Line, LineChart, ResponsiveContainer, XAxis, YAxis } from "recharts";
import type { Point } from "./history.ts";

/** Open and fixed advisories over time, as lines and as a table. */
export function Chart({ points }: { readonly points: readonly Point[] }) {
  if (points.length === 0) return <Text c="dimmed">No event says when it happened.</Text>;
  return (
    <figure className="chart" aria-label="Open and fixed advisories over time">
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={240}>
          <LineChart data={[...points]} accessibilityLayer={false} margin={{ left: 0, right: 16, top: 8 }}>
            <CartesianGrid stroke="var(--mantine-color-default-border)" vertical={false} />
            <XAxis dataKey="date" minTickGap={40} stroke="var(--mantine-color-dimmed)" />
            <YAxis allowDecimals={false} width={48} stroke="var(--mantine-color-dimmed)" />
            <Legend />
            <Line
              type="stepAfter"
              name="Open"
              dataKey="open"
              stroke="var(--open)"
              strokeWidth={2}
              dot={false}
              isAnimationActive={false}
            />
            <Line
              type="stepAfter"
              name="Fixed"
              dataKey="fixed"
              stroke="var(--fixed)"
              strokeWidth={2}
              strokeDasharray="6 3"
              dot={false}
              isAnimationActive={false}
            />
          </LineChart>
        </ResponsiveContainer>
      </div>
      <details>
        <summary>As a table</summary>
        <Table maw={400}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>End of</Table.Th>
              <Table.Th>Open</Table.Th>
              <Table.Th>Fixed</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {points.map(({ date, open, fixed }) => (
              <Table.Tr key={date}>
                <Table.Td>{date}</Table.Td>
                <Table.Td>{open.toLocaleString("en")}</Table.Td>
                <Table.Td>{fixed.toLocaleString("en")}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </details>
    </figure>
  );
}
