// The part of libcrypto (OpenSSL 3) that verifies P-192 signatures, a curve which swift-crypto lacks.
#ifndef WEIR_COPENSSL_SHIM_H
#define WEIR_COPENSSL_SHIM_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#endif
