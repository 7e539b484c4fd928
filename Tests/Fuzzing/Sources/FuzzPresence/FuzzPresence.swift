import SheafSyncModel

/// Runs the presence probe on an input of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let breach = SyncProbe.readPresence(bytes) { fatalError(breach) }
    return 0
}
