import SheafDocument

/// A cache of the groups of texts, keyed by their address.
///
/// Equal texts on one leaf usually share an address, so that few of them are hashed. The addresses
/// must remain valid for the run.
final class RecentTexts {
    private struct Entry {
        var address: UInt64 = 0
        var group: Int32 = 0
    }

    private let entries: UnsafeMutablePointer<Entry>

    private static let bits = 8

    init() {
        entries = .allocate(capacity: 1 << Self.bits)
        entries.initialize(repeating: Entry(), count: 1 << Self.bits)
    }

    deinit {
        entries.deallocate()
    }

    /// Returns the group of a text at a known address.
    @inline(__always)
    func group(of element: FieldElement) -> Int32? {
        guard let address = element.textAddress else { return nil }
        let entry = entries[Self.index(address)]
        return entry.address == address ? entry.group : nil
    }

    /// Records the group of a text.
    @inline(__always)
    func add(_ element: FieldElement, _ group: Int32) {
        guard let address = element.textAddress else { return }
        entries[Self.index(address)] = Entry(address: address, group: group)
    }

    @inline(__always)
    private static func index(_ address: UInt64) -> Int {
        Int(truncatingIfNeeded: (address &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - bits))
    }
}
