import SheafBytes

/// The version vector of a document, read from its encoded header.
extension EncodedHeader {
    /// Throws if the sites are not in ascending order, which all other functions assume.
    func checkSites() throws(Malformed) {
        for index in 0..<max(siteCount - 1, 0) where site(index) >= site(index + 1) {
            throw .invalid("sites that do not ascend", at: sitesAt)
        }
    }

    /// Whether the version vector covers a write.
    func covers(_ stamp: Stamp) -> Bool {
        var low = 0
        var high = siteCount
        while low < high {
            let middle = (low &+ high) / 2
            if site(middle) < stamp.site { low = middle &+ 1 } else { high = middle }
        }
        return low < siteCount && site(low) == stamp.site && stamp.time <= time(low)
    }

    /// Whether the version vector covers the base of a delta.
    func covers(baseOf delta: EncodedHeader) throws(Malformed) -> Bool {
        guard let baseCount = delta.baseCount else { return true }
        var (position, own) = (0, 0)
        var isCovered = true
        for index in 0..<delta.siteCount {
            let site = delta.site(index)
            var time = delta.time(index)
            if position < baseCount {
                let base = try delta.base(position)
                if base.index == index, base.time < time {
                    time = base.time
                    position += 1
                }
            }
            guard time > .initial else { continue }
            while own < siteCount, self.site(own) < site { own += 1 }
            isCovered =
                isCovered && own < siteCount && self.site(own) == site && time <= self.time(own)
        }
        guard position == baseCount else {
            throw .invalid("a base not earlier than its site's time", at: delta.basesAt)
        }
        return isCovered
    }
}

extension VersionVector {
    /// Creates the union of two version vectors with ascending sites.
    init(joining left: EncodedHeader, _ right: EncodedHeader) throws(Malformed) {
        var entries: [Entry] = []
        entries.reserveCapacity(left.siteCount + right.siteCount)
        var (first, second) = (0, 0)
        while first < left.siteCount || second < right.siteCount {
            let isLeft =
                second == right.siteCount
                || first < left.siteCount && left.site(first) <= right.site(second)
            let isRight =
                first == left.siteCount
                || second < right.siteCount && right.site(second) <= left.site(first)
            let site = isLeft ? left.site(first) : right.site(second)
            var time = HybridTime.initial
            if isLeft { time = left.time(first) }
            if isRight { time = max(time, right.time(second)) }
            entries.append(Entry(site: site, time: time))
            if isLeft { first += 1 }
            if isRight { second += 1 }
        }
        guard let joined = VersionVector(sorted: entries) else {
            throw .invalid("sites that do not ascend", at: 0)
        }
        self = joined
    }
}
