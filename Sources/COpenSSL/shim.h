// The part of libcrypto (OpenSSL 3) that verifies P-192 signatures, a curve which swift-crypto lacks, and that computes
// multiples of P-256 keys, which swift-crypto does not offer.
#ifndef WEIR_COPENSSL_SHIM_H
#define WEIR_COPENSSL_SHIM_H

// OpenSSL 3 discourages precomputed multiples without offering anything else for them.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/x509.h>

#endif
