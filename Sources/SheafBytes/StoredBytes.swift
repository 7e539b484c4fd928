/// A key and its payload in the memory of the store, not copied.
package struct StoredBytes {
    package let key: UnsafeRawBufferPointer
    package let payload: UnsafeRawBufferPointer
    /// Log position of the operation, unique within the store.
    package let pointer: UInt64

    @inline(__always)
    package init(key: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, pointer: UInt64) {
        self.key = key
        self.payload = payload
        self.pointer = pointer
    }
}
