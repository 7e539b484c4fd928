package import SheafBytes

/// A batch of documents that are opened and filtered together.
///
/// The loops are in this module: a call across modules for each document would cost more than most
/// filters.
package final class DocumentBatch {
    /// Fields of the existing documents, by index of their entry in the batch.
    package let fields: UnsafeMutablePointer<EncodedObject>
    private let indexes: UnsafeMutablePointer<UInt16>
    @exclusivity(unchecked) private var count = 0

    /// Indexes of the remaining documents, in order.
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

    /// Opens the documents in payloads; keeps those that exist and match a filter.
    package func open(
        _ stored: UnsafeBufferPointer<StoredBytes>, where filter: FieldFilter?
    ) throws(Malformed) {
        precondition(stored.count <= Self.capacity, "A batch has up to \(Self.capacity) documents.")
        var opened = 0
        for index in stored.indices {
            guard let found = try Self.open(stored[index].payload) else { continue }
            (fields + index).initialize(to: found)
            indexes[opened] = UInt16(truncatingIfNeeded: index)
            opened &+= 1
        }
        count = try filter?.select(indexes, opened, of: fields) ?? opened
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
