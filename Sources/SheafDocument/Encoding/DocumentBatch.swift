package import SheafBytes

/// Documents that are opened, and asked for something, together.
///
/// The loops are in here: a call from another module for each document would cost more than most
/// questions do.
package final class DocumentBatch {
    /// The fields of those that exist, each where its operation was.
    package let fields: UnsafeMutablePointer<EncodedObject>
    private let indexes: UnsafeMutablePointer<UInt16>
    @exclusivity(unchecked) private var count = 0

    /// Which of the documents are left, in order.
    package var left: UnsafeBufferPointer<UInt16> {
        UnsafeBufferPointer(start: indexes, count: count)
    }

    package static let capacity = 64

    package init() {
        fields = .allocate(capacity: Self.capacity)
        indexes = .allocate(capacity: Self.capacity)
    }

    deinit {
        fields.deallocate()
        indexes.deallocate()
    }

    /// Opens documents in the payloads of their operations, and keeps those that exist and for which
    /// a condition holds.
    package func open(
        _ stored: UnsafeBufferPointer<StoredBytes>, where filter: FieldFilter?
    ) throws(Malformed) {
        precondition(stored.count <= Self.capacity, "A batch has room for \(Self.capacity).")
        var opened = 0
        for index in stored.indices {
            guard let found = try Self.open(stored[index].payload) else { continue }
            (fields + index).initialize(to: found)
            indexes[opened] = UInt16(truncatingIfNeeded: index)
            opened &+= 1
        }
        count = try filter?.keep(indexes, opened, of: fields) ?? opened
    }

    @inline(__always)
    private static func open(
        _ payload: UnsafeRawBufferPointer
    ) throws(Malformed) -> EncodedObject? {
        guard let state = try DocumentPayload.plainState(payload) else {
            return try openUnusual(payload)
        }
        return try state.existingFields()
    }

    @inline(never)
    private static func openUnusual(
        _ payload: UnsafeRawBufferPointer
    ) throws(Malformed) -> EncodedObject? {
        try DocumentPayload(payload).state?.existingFields()
    }
}
