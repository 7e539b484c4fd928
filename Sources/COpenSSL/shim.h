#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// Swift cannot see macros that have arguments, and these options are made with one.
static const unsigned long long sheaf_no_ticket = SSL_OP_NO_TICKET;
static const unsigned long long sheaf_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const unsigned long long sheaf_no_compression = SSL_OP_NO_COMPRESSION;
