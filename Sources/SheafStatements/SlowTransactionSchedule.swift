/// The delay of the first warning about a slow transaction, and the interval of further ones.
package struct SlowTransactionSchedule: Equatable, Sendable {
    package var firstMilliseconds: UInt64 = 10_000
    package var nextMilliseconds: UInt64 = 5_000

    package init(firstMilliseconds: UInt64 = 10_000, nextMilliseconds: UInt64 = 5_000) {
        self.firstMilliseconds = firstMilliseconds
        self.nextMilliseconds = nextMilliseconds
    }
}
