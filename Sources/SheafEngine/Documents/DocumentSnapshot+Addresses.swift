package import SheafDocument

extension DocumentSnapshot {
    /// Returns the address of a key; nil if it is not the key of a document.
    package func address(of key: [UInt8]) -> DocumentAddress? {
        guard
            let number = key.span.withUnsafeBytes({ StoreKey.collection(ofDocument: $0) }),
            let name = catalog.collectionName(number)
        else { return nil }
        return DocumentAddress(
            collection: name, id: Array(key[StoreKey.documentPrefixLength...]))
    }
}
