/// An aggregate function; the raw value is its name in lower case.
package enum AggregateKind: String, CaseIterable, Sendable {
    case count, sum, avg, min, max, median, mid
}
