// A user of `Sheaf` names values, transports and peers without another import.
@_exported public import SheafDocument
@_exported public import SheafTransport
