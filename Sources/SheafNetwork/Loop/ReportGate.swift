/// A limit on the number of reports per second that counts the omitted ones.
package struct ReportGate {
    private let limit: Int
    private var second: UInt64 = 0
    private var count = 0
    private var omitted = 0

    package init(perSecond limit: Int) {
        self.limit = limit
    }

    /// Returns the number of reports omitted since the last one passed; nil if this one is omitted.
    package mutating func pass(atNanoseconds now: UInt64) -> Int? {
        let second = now / 1_000_000_000
        if second != self.second { (self.second, count) = (second, 0) }
        guard count < limit else {
            omitted += 1
            return nil
        }
        count += 1
        defer { omitted = 0 }
        return omitted
    }
}
