import SheafBytes

/// What a document has seen, asked of its bytes.
extension EncodedHeader {
    /// Checks that sites ascend, which all that follows relies on.
    func checkSites() throws(Malformed) {
        for index in 0..<max(siteCount - 1, 0) where site(index) >= site(index + 1) {
            throw .invalid("sites that do not ascend", at: sitesAt)
        }
    }

    /// Whether this write has been seen, and whatever its site wrote before.
    func covers(_ stamp: Stamp) -> Bool {
        var low = 0
        var high = siteCount
        while low < high {
            let middle = (low &+ high) / 2
            if site(middle) < stamp.site { low = middle &+ 1 } else { high = middle }
        }
        return low < siteCount && site(low) == stamp.site && stamp.time <= time(low)
    }

    /// Whether everything has been seen that a delta builds on.
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
            throw .invalid("a base that does not come before its site's time", at: delta.basesAt)
        }
        return isCovered
    }
}

extension VersionVector {
    /// What either of two documents has seen; their sites ascend.
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
