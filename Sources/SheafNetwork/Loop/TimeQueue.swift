/// Times of channels, the earliest first.
///
/// A channel whose time changes is added again; the caller skips entries that no longer apply.
package struct TimeQueue {
    package struct Entry {
        package let time: UInt64
        package let channel: UInt64
    }

    /// A binary heap.
    private var entries: [Entry] = []

    package init() {}

    /// The earliest entry.
    package var first: Entry? { entries.first }

    package mutating func insert(_ time: UInt64, of channel: UInt64) {
        entries.append(Entry(time: time, channel: channel))
        var index = entries.count - 1
        while index > 0, entries[index].time < entries[(index - 1) / 2].time {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    package mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].time < entries[least].time { least = child }
            }
            guard least != index else { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}
