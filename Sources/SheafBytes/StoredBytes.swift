/// What a store has under a key, where it lies: nothing is copied.
package struct StoredBytes {
    package let key: UnsafeRawBufferPointer
    package let payload: UnsafeRawBufferPointer
    /// What tells it from all else in the store.
    package let place: UInt64

    @inline(__always)
    package init(key: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, place: UInt64) {
        self.key = key
        self.payload = payload
        self.place = place
    }
}
