/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs when: see parts.h. May touch: the same.
 *
 * ioctl and fcntl: what is given depends on the request. Of requests that are not listed the size
 * is not checked: the one that is coded in many of them is often not the one that is used.
 */
#undef _FILE_OFFSET_BITS /* names are what they are: libc's headers rename none */

#include "runtime/guard/calls/parts.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <termios.h>

#define KERNEL_TERMIOS_BYTES 36u /* without libc's own members */

struct request {
	unsigned long number;
	const char *text;
	uint16_t bytes;
	bool leaves;
	enum part_use use;
};

#define REQUEST_READS(number, bytes)                                                               \
	{                                                                                          \
		number, "ioctl(" #number ")", bytes, true, PART_WHOLE                              \
	}
#define REQUEST_READS_MEMBERS(number, bytes)                                                       \
	{                                                                                          \
		number, "ioctl(" #number ")", bytes, true, PART_MEMBERS                            \
	}
#define REQUEST_FILLS(number, bytes)                                                               \
	{                                                                                          \
		number, "ioctl(" #number ")", bytes, false, PART_WHOLE                             \
	}

static const struct request requests[] = {
	REQUEST_FILLS(TCGETS, KERNEL_TERMIOS_BYTES),
	REQUEST_READS(TCSETS, KERNEL_TERMIOS_BYTES),
	REQUEST_READS(TCSETSW, KERNEL_TERMIOS_BYTES),
	REQUEST_READS(TCSETSF, KERNEL_TERMIOS_BYTES),
	REQUEST_FILLS(TIOCGWINSZ, sizeof(struct winsize)),
	REQUEST_READS(TIOCSWINSZ, sizeof(struct winsize)),
	REQUEST_FILLS(TIOCGPGRP, sizeof(int)),
	REQUEST_READS(TIOCSPGRP, sizeof(int)),
	REQUEST_FILLS(TIOCGSID, sizeof(int)),
	REQUEST_FILLS(TIOCGPTN, sizeof(int)),
	REQUEST_READS(TIOCSPTLCK, sizeof(int)),
	REQUEST_FILLS(TIOCOUTQ, sizeof(int)),
	REQUEST_FILLS(FIONREAD, sizeof(int)),
	REQUEST_READS(FIONBIO, sizeof(int)),
	REQUEST_READS(FIOASYNC, sizeof(int)),
	REQUEST_FILLS(SIOCGIFINDEX, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFNAME, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFFLAGS, sizeof(struct ifreq)),
	REQUEST_READS_MEMBERS(SIOCSIFFLAGS, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFADDR, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFHWADDR, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFMTU, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFNETMASK, sizeof(struct ifreq)),
	REQUEST_FILLS(SIOCGIFCONF, sizeof(struct ifconf)),
	/* Said to be of a long, used as of an int. */
	REQUEST_FILLS(FS_IOC_GETFLAGS, sizeof(int)),
	REQUEST_READS(FS_IOC_SETFLAGS, sizeof(int)),
	REQUEST_FILLS(BLKGETSIZE64, sizeof(uint64_t)),
	REQUEST_FILLS(BLKSSZGET, sizeof(int)),
};

static struct part part_of_ioctl(unsigned long number, const void *argument)
{
	for (unsigned i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (requests[i].number == number)
			return (struct part){requests[i].text, argument, requests[i].bytes,
				requests[i].leaves, requests[i].use};
	if (_IOC_DIR(number) & _IOC_WRITE)
		return (struct part){
			"ioctl(generic)", argument, _IOC_SIZE(number), true, PART_CODED};
	return (struct part){"", NULL, 0, true, PART_WHOLE};
}

static struct part part_of_fcntl(int command, const void *argument)
{
	switch (command) {
	case F_GETLK:
	case F_OFD_GETLK:
		return FILLS("fcntl(F_GETLK)", argument, sizeof(struct flock));
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return READS_MEMBERS("fcntl(F_SETLK)", argument, sizeof(struct flock));
	default:
		return (struct part){"", NULL, 0, true, PART_WHOLE};
	}
}

/* Declared elsewhere with a variable number of arguments. */
PARTS(int, ioctl, (int fd, unsigned long number, void *argument), (fd, number, argument),
	part_of_ioctl(number, argument))
PARTS(int, fcntl, (int fd, int command, void *argument), (fd, command, argument),
	part_of_fcntl(command, argument))
PARTS(int, fcntl64, (int fd, int command, void *argument), (fd, command, argument),
	part_of_fcntl(command, argument))
