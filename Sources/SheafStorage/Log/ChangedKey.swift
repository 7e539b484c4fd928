/// A key that differs between two states.
package struct ChangedKey {
    package let key: [UInt8]
    /// The pointer to its newest operation in the wanted state; nil if the key has no payload.
    package let pointer: RecordPointer?
    /// The payload of that operation, valid while the snapshot is; nil if it was not read.
    package let payload: UnsafeRawBufferPointer?

    package init(
        _ key: [UInt8], _ pointer: RecordPointer?, payload: UnsafeRawBufferPointer? = nil
    ) {
        (self.key, self.pointer, self.payload) = (key, pointer, payload)
    }
}
